"""neuronx-cc and torch.compile: what the compiler or the graph capture says about a graph it will not take."""

from __future__ import annotations

from typing import Final

from trnui_runner.diagnosis.rules.builders import CODES_DOC, ISSUES, NATIVE, TORCH, TRAIN_DOC, after, fault, warns

# Compiler code without NCC_ and its E or I → class. The documented codes (compiler/error-codes), and older ones met in public reports.
CODES: Final[dict[str, str]] = {
    **dict.fromkeys(
        [
            "VRF001",
            "UOC002",
            "VRF006",
            "VRF010",
            "VRF011",
            "VRF015",
            "HCA005",
            "VRF017",
            "VRF018",
            "VRF019",
            "VRF029",
            "VRF036",
            "VRF037",
            "VRF038",
            "VRF039",
            "VRF040",
            "VRF042",
            "VRF043",
            "VRF046",
            "VRF047",
            "VRF048",
            "VRF049",
            "VRF050",
            "VRF053",
            "VRF054",
            "VRF055",
            "VRF057",
            "VRF058",
        ],
        "unsupported_op",
    ),
    **dict.fromkeys(
        [
            "VRF004",
            "VRF005",
            "VRF013",
            "VRF016",
            "VRF022",
            "VRF035",
            "VRF041",
            "VRF044",
            "VRF045",
            "VRF051",
            "VRF052",
            "VRF060",
            "VRF061",
            "VRF062",
            "VRF063",
            "SPP004",
            "SPP047",
            "SFH002",
        ],
        "unsupported_dtype",
    ),
    "MOD025": "graph_capture",
    **dict.fromkeys(["BVF030", "VRF007", "XTP002", "XTP004", "LUR015", "BIR023"], "graph_too_large"),
    **dict.fromkeys(["OOM001", "OOM002", "VRF009", "XSP001", "XCG815"], "hbm_oom_compile"),
    "ARG001": "core_count",
    **dict.fromkeys(["VRF031", "VRF056"], "index_oob"),
    "VRF065": "version_mismatch",
    "F137": "host_oom",
    **dict.fromkeys(["F134", "F139", "F70", "TEN404", "NLA001", "VRF059", "VRF064"], "compiler_failure"),
}
# How a compiler process ended → class. 127 and 126: the shell found no compiler, or could not run it.
ENDS: Final[dict[str, str]] = {
    **dict.fromkeys(("-9", "137"), "host_oom"),
    **dict.fromkeys(("-2", "130", "-15", "143", "129"), "interrupted"),
    **dict.fromkeys(("126", "127"), "version_mismatch"),
}
_BRACKET = r"\[(?:INTERNAL_ERROR\] \[)?"

RULES = (
    fault(
        "ncc-code", "", ("NCC_E", "NCC_I"),
        r"(?P<code>NCC_[EI][A-Z]{3}\d{3})(?!\d)",
        "The compiler's own code; the documented ones say what to do about them", CODES_DOC, table=CODES, key="code",
    ),
    fault(
        "ncc-code-other", "compiler_failure", "NCC_",
        r"(?P<code>NCC_[A-Z]{3,4}\d{3})(?!\d)",
        "A compiler code that is not documented is an internal error, unless its message says more", CODES_DOC,
        tier=2,
    ),
    fault(
        "old-code", "",
        ("[XTP", "[XCG", "[LUR", "[F13", "[NLA", "[TEN", "[BVF", "[VRF", "[SPP", "[OOM", "[UOC", "[HCA"),
        r"\[(?P<code>(?:[A-Z]{3}|F)\d{2,3})\]",
        "Codes as they were printed before NCC_", ISSUES, table=CODES, key="code",
    ),
    fault(
        "old-code-other", "compiler_failure",
        ("neuronxcc", "neuronx-cc", "neuron-cc", "upport ticket", "Unhandled exception", "assert"),
        r"\[(?P<code>[A-Z]{3,4}\d{3})\]",
        "A bracketed code in a line of the compiler", ISSUES, tier=2,
    ),
    # -- sizes
    fault(
        "instructions", "graph_too_large", "nstruction",
        r"[Nn]umber of instructions \(?(?P<instructions>\d[\d,]*)\)? (?:is over|exceeds"
        r"|is above)[^(\d]*\(?(?P<limit>\d[\d,]*)"
        r"|[Ii]nstruction count (?P<instructions2>\d[\d,]*)[^\d\n]{1,40}(?P<limit2>\d[\d,]*)"
        r"|[Nn]umber of instructions (?:generated )?exceeds|[Tt]oo many instructions(?P<unroll> after unroll)?",
        "The program is longer than one core can take", CODES_DOC,
    ),
    fault(
        "hbm-predicted", "hbm_oom_compile", ("HBM", "hbm", "high-bandwidth memory", "load on chip"),
        r"[Ee]stimated peak HBM usage \((?P<need_gb>[\d.]+)\) exceeds (?P<have_gb>[\d.]+) ?G"
        r"|exceeds? (?:the )?(?:HBM|device memory|high-bandwidth memory) (?:limit"
        r"|capacity)(?:[^\n]*?Needed (?P<need_bytes>\d+) bytes(?: \([\d.]+ GB\))? vs\.? available (?P<have_bytes>\d+))?"
        r"|[Nn]eff won't be able to load on chip"
        r"|(?:requires|needs|need) (?P<need_gb2>[\d.]+) ?GB?[^\n]{0,40}HBM[^\n]{0,40}?(?P<have_gb2>[\d.]+) ?GB?",
        "The compiler adds up tensors and scratch and finds more than a core has", CODES_DOC, but=("TDRV:", "NRT:"),
    ),
    # -- types before operators: "operation X does not support 64-bit integers" is about the type
    fault(
        "dtype", "unsupported_dtype",
        (
            "ata type", "datatype", "dtype", "F8E", "f8E", "loat8", "FP8", "fp8", "omplex", "integer operand",
            "8-bit floating", "MXFP4", "does not support",
        ),
        r"[Dd]ata ?type:? '?(?P<dtype>[\w.]+)'? is not supported"
        r"|(?P<dtype2>[Ff]8E\w+|(?:torch\.)?[Ff]loat8_\w+)[^\n]{0,60}(?:not supported|unsupported)"
        r"|(?i:unsupported (?:pytorch |jax |data )?d?type:?) '?(?P<dtype3>[\w.]+)"
        r"|Complex data types? (?:are|is) not supported|(?P<dtype4>complex(?:64|128))[^\n]{0,60}not supported"
        r"|(?P<op>\w+)\)? does not support (?:[\w ]*?)(?P<dtype5>(?:32-bit or )?\d+-bit integer) operands?"
        r"|does not support (?P<dtypea>(?:torch\.)?(?:float64|float8\w*|int64|complex\d+|f64|double))\b"
        r"|unsupported 8-bit floating-point|Expect ap datatype to be of type"
        r"|not implemented for '(?P<dtype6>Float8\w*|Complex\w+|Half|ComplexFloat)'"
        r"|(?i:(?:GPU|compute capability)[^\n]{0,80}needed for (?P<dtype7>FP8|MXFP4) quantization)"
        r"|(?P<dtype8>FP8|MXFP4) quanti[sz]\w+[^\n]{0,60}(?:only supported|requires? a? ?(?:GPU|CUDA))"
        r"|Trying to convert (?P<dtype9>Float8\w+) to the \w+ backend but it does not have support",
        "The type has no hardware path here, or not for this operation", CODES_DOC,
    ),
    # -- operators
    fault(
        "operator-eager", "unsupported_op", ("Could not run 'aten::", "aten::"),
        r"Could not run '(?P<op>aten::[\w.]+)' with arguments from the '(?:neuron|Neuron|NEURON|PrivateUse1)"
        r"|(?P<op2>aten::[\w.]+)'? (?:is|are) not (?:currently )?(?:supported|implemented) (?:on|for|by|in) (?:the )?'?(?i:neuron|PrivateUse1)",
        "The eager mode has no kernel for an operator; the compiler was never asked", NATIVE,
        but=("falling back", "Falling back"), say="The Neuron backend has no kernel for operator {op}",
    ),
    fault(
        "operator", "unsupported_op",
        ("perator", "peration", "pcode", "ustom call", "ustom-call", "aten::", "ustom call target"),
        r"[Uu]nsupported operat(?:or|ion)s? (?:was|were) used:? ?'?%?(?P<op>[\w.:-]+)?"
        r"|[Uu]nsupported operat(?:or|ion)s?:? '?(?P<op7>(?!was\b|were\b|is\b|in\b)[\w.:<>-]+)|[Oo]perat(?:ion"
        r"|or) '?(?P<op2>(?!input|output|data)[\w.:-]+)'? (?:is|are) not (?:currently )?(?:supported|implemented)"
        r"|[Oo]pcode \(?'?(?P<op3>[\w.-]+)'?\)? is not supported"
        r"|custom[ -]call[^\n]{0,80}(?:not recogni[sz]ed|not supported|unsupported|[Uu]nknown target)"
        r"|[Uu]nrecogni[sz]ed custom[ -]call(?: target)?:? '?(?P<op5>[\w.]+)?"
        r"|[Nn]o (?:lowering|converter|implementation) (?:found )?for (?:op(?:erator)?)? ?'?(?P<op6>aten[:.]+[\w.]+)",
        "The compiler or the eager mode names an operator it has no kernel for", CODES_DOC,
        but=("ata type", "integer operand", "falling back", "Falling back", "process group", "Permission"), tier=3,
    ),
    # -- graph capture
    fault(
        "dynamo-data", "graph_capture",
        (
            "ata-dependent", "ata dependent", "DataDependent", "Unsupported Tensor.item", "Dynamic shape",
            "dynamic shape", "ynamic dimension", "dynamic=True", "Dynamic control flow", "unbacked", "Unbacked",
        ),
        r"[Dd]ata[- ]dependent (?:branching|operator|expression|output|control flow|jump)"
        r"|GuardOnDataDependentSymNode|DataDependentOutputException|Unsupported Tensor\.item"
        r"|[Dd]ynamic shapes? (?:detected|is not supported|operator|are not supported)"
        r"|dynamic=True[^\n]{0,40}(?:not supported|reject|unsupported)|Dynamic control flow|UnbackedSymbol"
        r"|unbacked symbol",
        "Control flow or shapes depend on values that only exist at run time", TORCH,
    ),
    fault(
        "recompiles", "graph_capture", ("recompile_limit", "RecompileLimit", "cache_size_limit"),
        r"hit config\.(?:recompile_limit|cache_size_limit)(?: \((?P<limit>\d+)\))?|FailOnRecompileLimitHit"
        r"|(?:recompile|cache_size)_limit reached",
        "Each step makes a new graph, until Dynamo gives up", TORCH,
    ),
    fault(
        "static-cache", "graph_capture", ("tatic cache", "StaticCache", "static`", "cache_implementation"),
        r"(?:[Ss]tatic ?[Cc]ache|cache_implementation=\W*static\W*|StaticCache)[^\n]{0,60}(?:not support|unsupported"
        r"|ignored|not honou?red|not compatible)"
        r"|(?:does not|doesn't|cannot) support[^\n]{0,30}(?:[Ss]tatic ?[Cc]ache|cache_implementation|StaticCache)",
        "Without the static cache every token has a new shape", TORCH, but=("compiled with",), tier=2,
    ),
    fault(
        "dynamo", "graph_capture",
        ("torch._dynamo.exc.", "_dynamo.exc.", "torch.fx.experimental", "torch._subclasses.fake_tensor"),
        r"(?:Unsupported|UserError|TorchRuntimeError|InternalTorchDynamoError|UncapturedHigherOrderOpError"
        r"|ArgsMismatchError|UnspecializeRestartAnalysis|RecompileError|ConstraintViolationError"
        r"|PendingUnbackedSymbolNotFound|GuardOnDataDependent\w*|DynamicOutputShapeException|ObservedTypeError)\b",
        "Dynamo could not turn the Python code into one graph", TORCH, tier=2,
    ),
    fault(
        "dynamo-short", "graph_capture", ("Unsupported: ", "Dynamo failed", "fullgraph=True", "Graph break"),
        r"^\W*(?:\[?rank ?\d+\]?:?\s*)?(?:\w+\.)*Unsupported: |Dynamo failed to run FX node"
        r"|fullgraph=True[^\n]{0,60}(?:graph break|found|fail)|Graph break (?:under|in|found|with)[^\n]{0,40}fullgraph",
        "As above, without the module's name", TORCH, tier=2,
    ),
    # -- crashes
    fault(
        "internal-error", "compiler_failure",
        (
            "INTERNAL_ERROR", "nternal Compiler Error", "CompilerInternalError", "nternal compiler error",
            "nternal tensorizer error", "erminated abnormally", "BIR verification failed", "Non-signal exit",
            "Backend exited with code", "ensorizer failed", "hlo2penguin", "walrus_driver",
        ),
        r"INTERNAL_ERROR|[Ii]nternal [Cc]ompiler [Ee]rror|CompilerInternalError|[Ii]nternal tensorizer error"
        r"|neuronx?-cc terminated abnormally|BIR verification failed|Non-signal exit|Backend exited with code"
        r"|[Tt]ensorizer failed|(?:hlo2penguin|walrus_driver)[^\n]{0,30}(?:error|failed|exited)",
        "The compiler says itself that it broke", TRAIN_DOC, tier=2,
    ),
    fault(
        "compiler-end", "compiler_failure", ("ailed with", "returned", "exit", "eturn code", "eturncode", "status"),
        r"(?:neuronx?-cc|[Cc]ompil(?:er|ation|e command|ing))[^\n]{0,120}?(?:failed with(?: exit)?(?: code| status"
        r"| return code)?|returned(?: non-zero)?(?: exit)?(?: status| code)?|exit(?:ed)?(?: with)?(?: code| status)?"
        r"|return ?code)[:= ]{1,3}(?P<exit>-?\d+)(?!\d|\.\d)",
        "How the compiler process ended: killed ones ran out of host memory, all others failed", ISSUES, table=ENDS,
        key="exit", tier=1, but=("returned 0", "exit status 0", "exit code 0", "code: 0", "returned: 0"),
    ),
    fault(
        "compiler-signal", "compiler_failure",
        ("Segmentation fault", "core dumped", "Aborted", "SIGABRT", "SIGSEGV", "ignals.SIG"),
        r"Segmentation fault|Aborted \(core dumped\)|SIG(?:ABRT|SEGV)",
        "A crash while a graph was being compiled is the compiler's", ISSUES, tier=1, phases=frozenset({"compile"}),
    ),
    fault(
        "compiler-signal-named", "compiler_failure", ("Segmentation fault", "core dumped", "SIGABRT", "SIGSEGV"),
        r"neuronx?-cc[^\n]*(?:Segmentation fault|core dumped|SIG(?:ABRT|SEGV))"
        r"|(?:Segmentation fault|SIG(?:ABRT|SEGV))[^\n]*neuronx?-cc",
        "The compiler crashed", ISSUES, tier=2,
    ),
    fault(
        "compile-failed", "compiler_failure",
        (
            "Compiler status ERROR", "Compiler status FAIL", "COMPILATION FAILED", "NEFF compilation failed",
            "Failed compilation", "ompilation failed", "Compilation error occurred on Neuron",
        ),
        r"Compiler status (?:ERROR|FAIL)|COMPILATION FAILED|NEFF compilation failed|Failed compilation with"
        r"|neuronx?-cc compilation failed|[Cc]ompilation failed for|Compilation error occurred on Neuron",
        "The wrapper's words, without the reason", NATIVE, tier=1,
    ),
    warns(
        "fallback-graph", "eager_fallback",
        ("alling back", "allback execution", "suppress_errors", "fell back", "falls back", "Falling back"),
        r"[Ff]all(?:ing|s) back to (?:the )?(?:original GraphModule|eager|CPU|individual operation|native python"
        r"|op-by-op|uncompiled)|fell back to (?:the )?(?:eager|CPU|uncompiled)|[Ff]alling back on CPU|WON'T CONVERT",
        "The graph did not compile and plain Python ran instead", NATIVE,
        but=(
            "ttention", "flash", "rsLora", "mode=", "SoftFileLock", "regular HTTP", "HTTP download",
            "XLA/MLIR implementation", "slow tokenizer", "default world group",
        ),
    ),
    warns(
        "fallback-cpu", "eager_fallback",
        (
            "CPU fallback", "cpu fallback", "executed on CPU", "executed on the CPU", "fallback ops",
            "running on CPU", "using CPU", "using cpu", "using the CPU", "running on cpu",
        ),
        r"(?:not available|not found|unavailable)[,;: ]+(?:so )?(?:using|running on|falling back to) (?:the )?(?:CPU"
        r"|cpu)\b|executed via CPU fallback"
        r"|\b[1-9]\d* (?:ops?|operators?)[^\n]{0,40}(?:CPU fallback|executed on (?:the )?CPU|fell back)"
        r"""|CPU fallback(?:s)?[:=] ?\[?['\"]?(?:aten|[1-9])|fallback ops[:=] ?(?:\[?['\"]?aten|\{'?aten|[1-9])"""
        r"|(?:executed|running) on (?:the )?CPU (?:instead|because|as )",
        "Operators ran on the host, so the device was not what was tested", NATIVE,
        but=("disabled", "CPU reference", "reference run"),
    ),
    after(
        "backend-failed", "compiler_failure", "BackendCompilerFailed",
        r"BackendCompilerFailed: backend='?(?P<backend>\w+)",
        "torch.compile's wrapper around what the backend said", TORCH, tier=1,
    ),
)  # fmt: skip
