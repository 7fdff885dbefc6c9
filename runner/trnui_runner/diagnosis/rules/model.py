"""The checkpoint: its code, tokenizer, architecture, and how it is split over cores."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import NATIVE, TORCH, TRANSFORMERS, fault, moves

RULES = (
    fault(
        "trust", "remote_code", ("custom code", "trust_remote_code"),
        r"contains custom code which must be executed|references custom code contained in"
        r"|requires you to execute (?:the )?(?:custom code|configuration file|configuration code|modeling)"
        r"|run the custom code\?|[Pp]lease (?:pass|set) the (?:argument|option) `?trust_remote_code=True"
        r"|(?:pass|set|with|requires?) `?trust_remote_code=True`? to (?:allow|permit)"
        r"|trust_remote_code=False[^\n]{0,40}custom code",
        "The checkpoint brings Python code that is not approved to run", TRANSFORMERS,
        but=("has no effect", "will be ignored", "is deprecated", "not supported anymore"),
    ),
    fault(
        "remote-packages", "remote_code", ("This modeling file requires", "modeling file requires"),
        r"modeling file requires the following packages[^:]*: (?P<name>[\w, .-]+?)\.? Run",
        "The checkpoint's own code needs packages that are not here", TRANSFORMERS,
        say="The checkpoint's own code needs packages that are missing: {name}",
    ),
    moves(
        "remote-frame", "", "transformers_modules",
        r"""File \"[^\"]*transformers_modules[^\"]*\", line (?P<line>\d+)|from '?transformers_modules""",
        "A frame in the checkpoint's own code", TRANSFORMERS, onward=False,
    ),
    fault(
        "remote-import", "remote_code", "transformers_modules",
        r"(?:ImportError|ModuleNotFoundError|AttributeError)[^\n]*transformers_modules",
        "Its import failed", TRANSFORMERS,
    ),
    fault(
        "remote-import-frame", "remote_code",
        ("cannot import name", "No module named", "has no attribute", "ImportError"),
        r"cannot import name '(?P<name>\w+)'|No module named '?(?P<name2>[\w.]+)'?|has no attribute '(?P<name3>\w+)'"
        r"|ImportError: (?!cannot import name|No module named)",
        "The checkpoint's own code asks for what this Transformers has not got", TRANSFORMERS, near="remote-frame",
    ),
    fault(
        "cache-method", "remote_code", "Cache' object has no attribute",
        r"'\w*Cache' object has no attribute '(?P<name>\w+)'",
        "Model code that was written for another Transformers, as a checkpoint's own code is", TRANSFORMERS, tier=2,
        say="The model's code uses {name} of the cache, which this Transformers has not got",
    ),
    fault(
        "torn-checkpoint", "unknown",
        (
            "SafetensorError", "incomplete metadata", "MetadataIncompleteBuffer", "InvalidHeader", "HeaderTooLarge",
            "HeaderTooSmall", "PytorchStreamReader failed", "not fully covered",
        ),
        r"SafetensorError|incomplete metadata|MetadataIncompleteBuffer|InvalidHeader\w*|HeaderToo(?:Large|Small)"
        r"|PytorchStreamReader failed|not fully covered",
        "A checkpoint file does not hold what its header promises", TRANSFORMERS, tier=2,
        say="A checkpoint file is cut short or damaged",
        hint="Delete that file from the Hub's cache and download it again; a file of a few hundred bytes is a Git LFS pointer.",
        but=("No such file", "Errno"),
    ),
    moves(
        "config-frame", "", ("CONFIG_MAPPING", "configuration_auto"),
        r"CONFIG_MAPPING\[|configuration_auto\.py",
        "A look-up of the model's type", TRANSFORMERS, onward=False,
    ),
    fault(
        "template", "tokenizer", "jinja2.exceptions",
        r"jinja2\.exceptions\.\w+",
        "The chat template does not take these messages", TRANSFORMERS, tier=2,
    ),
    fault(
        "tokenizer", "tokenizer",
        (
            "okenizer", "entence[Pp]iece", "sentencepiece", "SentencePiece", "tiktoken", "chat_template",
            "chat template", "mage processor", "rocessor", "eature extractor", "untagged enum", "vocabulary",
            "mistral_common", "mistral-common", "protobuf library", "Torchvision library", "PIL library",
        ),
        r"[Cc]ouldn't instantiate the backend tokenizer|[Cc]onverting from SentencePiece and Tiktoken failed"
        r"|chat_template is not set|[Cc]annot use chat template|no chat template|does not have a chat template"
        r"|[Cc]an't load tokenizer for|Tokenizer class (?P<name>\w+) does not exist"
        r"|[Cc]an't load (?:the )?(?:image processor|feature extractor|processor|video processor)"
        r"|Unrecognized (?:processing class|image processor|feature extractor|video processor)"
        r"|data did not match any variant of untagged enum|[Uu]nable to load vocabulary|to build an AutoTokenizer"
        r"|requires the (?:SentencePiece|protobuf|Torchvision|PIL|tiktoken|[Tt]okenizers?|mistral[-_]common) library"
        r"|No module named '(?P<name2>sentencepiece|tiktoken|mistral_common|tokenizers)'|`?(?P<name3>sentencepiece"
        r"|tiktoken|mistral-common)`? (?:is required|must be installed|is not installed|is needed)"
        r"|(?:need|needs|install|requires) (?:to have )?`?(?P<name4>sentencepiece|tiktoken|mistral-common)`?"
        r"|[Ff]ailed to (?:load|build|instantiate|create) (?:the )?(?:fast )?(?:tokenizer|processor)",
        "The tokenizer or processor cannot be built from what the checkpoint holds and what is installed", TRANSFORMERS,
        but=("slow tokenizer instead", "UserWarning", "FutureWarning"),
    ),
    fault(
        "unknown-model", "model_unknown",
        (
            "not recognize this architecture", "Unrecognized model in", "Unrecognized configuration class",
            "Unrecognized model identifier", "CONFIG_MAPPING", "model type `", "has no attribute",
            "from 'transformers'", "KeyError",
        ),
        r"model type `(?P<model_type>[\w.-]+)`|does not recognize this architecture"
        r"|Unrecognized model in (?P<repo>\S+?)\. |Unrecognized configuration class (?!.*AutoTokenizer)"
        r"|Unrecognized model identifier:? (?P<model_type2>[\w-]+)?"
        r"|module '?transformers\S* has no attribute '?(?P<model_type3>(?!Auto)\w+(?:For\w+|Model|Config))"
        r"|cannot import name '(?P<model_type4>(?!Auto)\w+(?:For[A-Z]\w+|Config|Model))' from 'transformers'",
        "This Transformers is older than the architecture", TRANSFORMERS,
    ),
    fault(
        "config-key", "model_unknown", "KeyError: '",
        r"^\W*(?:\[?rank ?\d+\]?:?\s*)?KeyError: '(?P<model_type>[a-z][a-z0-9_]+)'$",
        "The older form: the registry of model types has no such key", TRANSFORMERS, tier=2, near="config-frame",
    ),
    # -- sharding
    fault(
        "mixed-tensors", "sharding",
        (
            "mixed torch.Tensor and DTensor", "DTensor", "sharding strategy", "harding propagation",
            "sharded dimension",
        ),
        r"sharded dimension|got mixed torch\.Tensor and DTensor|[Ss]harding propagation failed"
        r"|DTensor[^\n]{0,60}(?:not (?:support|implement|divisible)|uneven|cannot)"
        r"|(?:does not have a |no )sharding strategy(?: registered)?",
        "A module is outside the parallel plan, so plain and sharded tensors meet", TORCH,
    ),
    fault(
        "divide", "sharding",
        ("ivisible", "ivide", "must be multiple of", "be a multiple of", "be split", "be sharded", "evenly"),
        r"(?i:(?:heads?|experts?|hidden|intermediate|vocab|dimension|kv|num_\w+|tp|ep|tensor parallel"
        r"|expert parallel|shard|world)[^\n]{0,100}(?:not (?:evenly )?divisible"
        r"|must (?:be )?(?:evenly )?(?:divisible|divide)|does not (?:evenly )?divide"
        r"|cannot be (?:evenly )?(?:divided|split|sharded)|should be divisible|(?:be a?|must be) ?multiple of))"
        r"|(?i:not (?:evenly )?divisible by[^\n]{0,30}(?:tp|ep|tensor|expert|world|rank|shard))",
        "Heads, experts or sizes do not divide by the number of ranks", TRANSFORMERS,
        but=("QuantizeMX", "block_size", "NCC_", "batch size"),
    ),
    fault(
        "modulo", "sharding", (" % ", "%tp", "%ep", "%world"),
        r"(?i:(?:heads?|experts?|kv|hidden|intermediate|vocab|num_\w+|dim\w*|size|channels|groups)\w*[^\n%]{0,40}"
        r"\s?%\s?[^\n%]{0,24}(?:tp|ep|world|rank|shard|degree|partition|tensor|expert|parallel|devices|cores)\w*"
        r"[^\n]{0,30}?(?:!=|==|(?:should|must) (?:be|equal)|is not|is|=)\W{0,3}\d)",
        "The same written as a remainder that is not 0", TRANSFORMERS, tier=2, but=("batch",),
    ),
    fault(
        "divide-bare", "sharding", "is not divisible by",
        r"\b\d+ is not divisible by \d+",
        "Seen with several ranks", TORCH, tier=2, phases=frozenset({"sharded"}),
    ),
    fault(
        "plan", "sharding",
        (
            "tp_plan", "ep_plan", "arallel plan", "tensor parallelism", "expert parallelism", "ensor parallel",
            "xpert parallel",
        ),
        r"(?i:no|without|missing|does not (?:have|support|define)|doesn't (?:have|support)|not supported|unsupported"
        r"|not have)[^\n]{0,50}(?:`?(?:base_model_)?(?:tp|ep)_plan`?|(?:tensor|expert)[- ]parallel(?:ism)?(?: plan)?"
        r"|parallel plan)|(?:tp_plan|ep_plan|(?:tensor|expert)[- ]parallel(?:ism)?)[^\n]{0,60}(?i:not (?:supported"
        r"|available|defined|found)|is None|is empty|unsupported)",
        "The architecture has no plan that says what to split", TRANSFORMERS,
    ),
    fault(
        "split-shape", "sharding", "is invalid for input of size",
        r"shape '\[(?P<shape>[-\d, ]+)\]' is invalid for input of size (?P<size>\d+)",
        "Seen with several ranks: half a head is left on a rank", TRANSFORMERS, tier=3, phases=frozenset({"sharded"}),
    ),
    fault(
        "split-sizes", "sharding",
        ("must match the size of tensor", "shapes cannot be multiplied", "size mismatch for"),
        r"The size of tensor a \(\d+\) must match|shapes cannot be multiplied|size mismatch for",
        "Seen with several ranks: one side of the operation was split, the other was not", TORCH, tier=1,
        phases=frozenset({"sharded"}),
    ),
    fault(
        "gqa", "sharding", "must be multiple of H_kv",
        r"H_q \(\d+\) must be multiple of H_kv",
        "Query and key heads were split unevenly", NATIVE,
    ),
)  # fmt: skip
