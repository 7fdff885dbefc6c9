"""What is installed: packages that do not fit each other, a Python that does not fit them, libraries that are missing; and data files."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import DUCKDB, ISSUES, LINUX, NATIVE, PIP, TORCH, TRAIN_DOC, after, fault

_PACKAGES = "torch_neuronx|torch|torchvision|transformers|accelerate|neuronxcc|nki|libneuronxla|torch_xla|huggingface_hub|safetensors|numpy|neuronx_distributed\\w*|optimum\\w*|peft|diffusers"

RULES = (
    # -- Python itself, before packages: its errors look like theirs
    fault(
        "python-wheel", "python_version",
        (
            "Requires-Python", "different Python", "different python", "but the running Python is",
            "not a supported wheel", "not supported on Python", "Python version", "python version", "Python 3.",
            "python_requires", "requires Python", "requires python",
        ),
        r"Requires-Python|requires? a different [Pp]ython(?:[^\n]*?: (?P<python>3\.[\d.]+))?"
        r"|but the running Python is (?P<python2>[\d.]+)|not a supported wheel on this platform"
        r"|(?:is|are) not supported (?:on|with|for|by) Python ?(?P<python3>3\.[\d.]+)?"
        r"|(?i:unsupported python version)|Python (?P<python4>3\.\d+)[\d.]* is not (?:yet )?supported"
        r"""|(?i:requires python ?(?:version )?[\"']?[<>=~!]*\s*3[^\n]{0,60}(?:found|but|running|have|you are|got"""
        r"|current))|(?i:this (?:package|version|script|code|project) requires python)",
        "No release for this Python", PIP, tier=3, but=("Using Python version", "DeprecationWarning"),
    ),
    fault(
        "no-distribution", "python_version",
        (
            "No matching distribution found", "find a version that satisfies", "no wheels with a matching Python",
            "no matching Python ABI", "matching Python version tag",
        ),
        r"No matching distribution found for (?P<package>[\w.-]+)"
        r"|[Cc]ould not find a version that satisfies the requirement (?P<package2>[\w.-]+)"
        r"|no wheels with a matching Python|matching Python version tag",
        "The index has nothing that this Python can install", PIP, tier=2,
        hint="Use the Python of the row. If that is the one here, this version is not on the index that pip asked: add the Neuron package index, or ask for a version that it has.",
    ),
    fault(
        "python-gone", "python_version",
        (
            "No module named 'distutils", "No module named 'imp'", "No module named 'tomllib'", "from 'typing'",
            "from 'enum'", "'inspect' has no attribute", "'ast' has no attribute", "No module named 'pipes'",
            "No module named 'cgi'", "'pkgutil' has no attribute", "'collections' has no attribute",
            "from 'collections'", "from 'datetime'",
        ),
        r"No module named '(?P<name>distutils|imp|tomllib|pipes|cgi)\b"
        r"|cannot import name '(?P<name2>\w+)' from '(?:typing|enum|collections|datetime|ast|inspect)'"
        r"|module '(?:inspect|ast|pkgutil|collections|typing|asyncio)' has no attribute '(?P<name3>\w+)'",
        "A part of the standard library that this Python does not have, or no longer", LINUX, tier=3,
    ),
    fault(
        "syntax", "python_version", "SyntaxError",
        r"^\W*(?:\[?rank ?\d+\]?:?\s*)?SyntaxError: (?!.*(?:JSON"
        r"|unterminated string literal \(detected at line 1\)))",
        "Code written for another Python", LINUX, tier=2,
    ),
    # -- packages
    fault(
        "import", "version_mismatch",
        (
            "cannot import name", "undefined symbol", "has no attribute", "compiled against", "compiled using NumPy",
            "dtype size changed", "annot be created directly", "annot not be created directly",
            "is already registered", "GLIBC", "cannot open shared object file", "partially initialized module",
        ),
        (r"cannot import name '(?P<name>\w+)'(?: from (?:partially initialized module )?'(?P<package>[\w.]+)')?"
        r"|undefined symbol|module '?(?P<package2>(?:"
        + _PACKAGES
        + r")[\w.]*)'? has no attribute '?(?P<name2>\w+)|compiled against API version|compiled using NumPy 1"
        r"|dtype size changed|Descriptors cannot (?:not )?be created directly"
        r"""|generic_type: type \"?\w+\"? is already registered|GLIBC(?:XX)?_[\d.]+'? not found|(?P<name3>lib(?:nrt"""
        r"|nccom|neuron\w*|torch\w*|python3)[\w.]*\.so[\w.]*)[^\n]{0,40}cannot open shared object file"),
        "One package asks another for something it has not got: they are of different releases", TORCH, tier=3,
    ),
    fault(
        "keyword", "version_mismatch", "unexpected keyword argument",
        r"unexpected keyword argument '(?P<name>dtype|torch_dtype|attn_implementation|cache_implementation"
        r"|prefill_chunk_size|compile_config|distributed_config|tp_plan|tp_size|cache|cache_position"
        r"|position_embeddings|past_key_values|logits_to_keep|num_logits_to_keep|max_cache_len|backend|device_mesh)'",
        "A name that one release of a package has and another has not", TORCH, tier=1,
    ),
    fault(
        "custom-op", "version_mismatch", ("torchvision::", "torchaudio::"),
        r"operator torch(?:vision|audio)::\w+ does not exist",
        "torch and torchvision are of different releases", TORCH,
    ),
    fault(
        "module", "version_mismatch", "No module named",
        r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<name>[\w.]+)'?",
        "A package is missing", TORCH, tier=2,
    ),
    fault(
        "resolver", "version_mismatch",
        (
            "dependency resolver", "ResolutionImpossible", "conflicting dependencies", "but you have",
            "which is incompatible", "is required for a normal functioning", "requires the latest version",
            "was not found in your environment", "requires Accelerate", "depends on", "No solution found",
            "requires torch", "which is required", "incompatible with",
        ),
        (r"ResolutionImpossible|conflicting dependencies"
        r"|(?P<package>[\w.-]+) (?P<have>[\d][\w.+]*) requires (?P<name>[\w.-]+)[^\n]*(?:but you have"
        r"|which is (?:not installed|incompatible))"
        r"|is required for a normal functioning of this module(?:, but found (?P<found>\S+?)\.?$)?"
        r"|which is incompatible|requires (?:the latest version of )?[Aa]ccelerate|No solution found when resolving"
        r"|(?:"
        + _PACKAGES
        + r")\S* (?:is incompatible with|is not compatible with|requires) (?:torch|transformers|numpy|python|neuronx"
        r"|accelerate)\S*"),
        "The installer or the package says which versions do not fit", PIP, tier=2, but=("Requires-Python",),
    ),
    fault(
        "compiler-absent", "version_mismatch", "neuronx-cc",
        r"neuronx-cc(?::| is| was)? (?:command )?not (?:found|installed)|neuronx-cc not found in PATH"
        r"|(?:No such file or directory|FileNotFoundError)[^\n]*'?neuronx-cc'?$|command not found: neuronx-cc"
        r"|gather requires neuronxcc",
        "The compiler is not in this environment", NATIVE,
    ),
    fault(
        "xla-flags", "version_mismatch", "Unknown flags in XLA_FLAGS",
        r"Unknown flags in XLA_FLAGS",
        "libneuronxla sets flags that this torch-xla does not know", ISSUES,
        hint="Install libneuronxla and torch-xla as one Neuron release names them, and unset XLA_FLAGS if you set it.",
    ),
    fault(
        "two-neurons", "version_mismatch",
        ("torch_xla", "torch-xla", "torch_neuronx", "torch-neuronx", "libneuronxla"),
        r"(?:XLA-based|both|old|two)[^\n]{0,40}torch[-_]neuronx[^\n]{0,60}(?:native|conflict|installed|beside)"
        r"|torch[-_]neuronx[^\n]{0,60}(?:requires torch|was built for torch|compiled for torch|expects torch)",
        "The old XLA package and the native one share a name", NATIVE, tier=2,
    ),
    fault(
        "numpy-attr", "version_mismatch", "module 'numpy'",
        r"module 'numpy' has no attribute",
        "NumPy dropped it; the compiler needs an older one", TRAIN_DOC, tier=3,
    ),
    after(
        "import-generic", "version_mismatch", "ImportError",
        r"^\W*(?:\[?rank ?\d+\]?:?\s*)?ImportError: ",
        "An import failed for a reason that no rule knows", TORCH, tier=1,
    ),
    # -- files of results and of state
    fault(
        "file-lock", "file_lock",
        (
            "Could not set lock on file", "onflicting lock", "database is locked", "could not be acquired",
            "already opened in", "is locked by", "temporarily unavailable", "used by another process",
        ),
        r'Could not set lock on file(?: \"(?P<file>[^\"]+)\")?(?:[^\n]*?\(PID (?P<holder_pid>\d+)\))?'
        r"|[Cc]onflicting lock is held(?: in [^\n]*?\(PID (?P<holder_pid2>\d+)\))?|database is locked"
        r"|[Tt]he file lock '(?P<file2>(?:(?!huggingface|/hub/|\.locks)[^'])+)' could not be acquired"
        r"|BlockingIOError[^\n]*temporarily unavailable|being used by another process"
        r"|is locked by (?:another )?process",
        "A local database or state file is open elsewhere", DUCKDB, tier=3,
    ),
    fault(
        "parquet", "data_schema",
        (
            "arquet", "ArrowInvalid", "ArrowTypeError", "union_by_name", "chema mismatch", "chema", "No magic bytes",
            "Thrift", "thrift", "TProtocolException", "Couldn't cast", "column names don't match", "was different",
            "ArrowNotImplemented", "Mismatch", "compressed data", "ompression failed", "end of stream",
        ),
        r"TProtocolException|Couldn't cast|column names don't match|Schema at index \d+ was different"
        r"|No magic bytes found|[Pp]arquet magic bytes not found|too small to be a (?:[Pp]arquet|valid)"
        r"|[Pp]arquet file size is 0|union_by_name|(?i:schema mismatch|schemas? (?:do not|does not|are not|differ))"
        r"|Unable to merge: Field (?P<column>\w+) has incompatible types|ArrowTypeError"
        r"|ArrowInvalid: (?!.*(?:offset|filter))|(?i:failed to (?:read|open) (?:the )?parquet)"
        r"|[Mm]ismatch (?:between|of)[^\n]{0,40}(?:schema|columns?|types?)"
        r"|[Cc]orrupt (?:snappy|zstd|lz4|gzip|brotli)? ?compressed data|(?:ZSTD|Snappy|LZ4|GZIP|gzip|Brotli) [Dd]ecompression failed"
        r"|Unexpected end of stream: (?:Page|Read)|(?:corrupt|truncated|not a)[^\n]{0,20}[Pp]arquet|[Ii]nvalid [Ii]nput [Ee]rror[^\n]*[Pp]arquet"
        r"|(?:thrift|Thrift)[^\n]{0,40}(?:error|failed|deserializ)"
        r"""|column (?:\"|')?(?P<column2>\w+)(?:\"|')? (?:in|of) [Pp]arquet file[^\n]{0,60}(?:type|not|miss)""",
        "Result files that cannot be read together, or not at all", DUCKDB, tier=3,
    ),
    fault(
        "binder", "data_schema", ("Binder Error", "Conversion Error", "Mismatch Type Error"),
        r"Binder Error:?[^\n]*(?:Referenced column|column)[^\n]{0,80}(?:not found|does not)"
        r"|Conversion Error[^\n]*(?:cast|column)|Mismatch Type Error",
        "DuckDB misses a column or cannot turn it into the type expected", DUCKDB, tier=2,
    ),
)  # fmt: skip
