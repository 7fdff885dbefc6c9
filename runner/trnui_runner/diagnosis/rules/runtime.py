"""The Neuron runtime and driver: devices, cores, hardware, execution. Lines of NRT, TDRV, NMGR, HAL and the status numbers."""

from __future__ import annotations

from typing import Final

from trnui_runner.diagnosis.rules.builders import ISSUES, LINUX, NATIVE, NEURON_DOC, STATUS_DOC, TORCH, after, fault

# NRT status → class. The others (`STATUS_WORDS`) say that something failed and not why.
STATUS: Final[dict[str, str]] = {
    "4": "hbm_oom",
    "6": "hw_error",
    "9": "core_count",
    "10": "cache_version_mismatch",
    "11": "host_oom",
    "101": "hw_error",
    "1003": "numerical_mismatch",
    "1005": "cores_busy",
    "1006": "index_oob",
    **dict.fromkeys(("1200", "1201", "1202", "1203", "1204", "1205"), "hw_error"),
    "1206": "distributed_comm",
}
NAMES: Final[dict[str, str]] = {
    "NRT_RESOURCE": "hbm_oom",
    "NRT_HW_ERROR": "hw_error",
    "NRT_LOAD_NOT_ENOUGH_NC": "core_count",
    "NERR_RESOURCE_NC": "core_count",
    "NRT_UNSUPPORTED_NEFF_VERSION": "cache_version_mismatch",
    "NRT_FAIL_HOST_MEM_ALLOC": "host_oom",
    "NRT_EXEC_UNIT_UNRECOVERABLE": "hw_error",
    "NRT_EXEC_COMPLETED_WITH_NUM_ERR": "numerical_mismatch",
    "NRT_EXEC_NC_BUSY": "cores_busy",
    "NRT_EXEC_OOB": "index_oob",
    "NRT_EXEC_HW_ERR_COLLECTIVES": "hw_error",
    "NRT_EXEC_HW_ERR_HBM_UE": "hw_error",
    "NRT_EXEC_HW_ERR_NC_UE": "hw_error",
    "NRT_EXEC_HW_ERR_DMA_ABORT": "hw_error",
    "NRT_EXEC_SW_NQ_OVERFLOW": "hw_error",
    "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE": "hw_error",
    "NRT_NETWORK_PROXY_FAILURE": "distributed_comm",
}
STATUS_WORDS: Final[dict[int, str]] = {
    1: "NRT_FAILURE, a failure of no specific kind",
    2: "NRT_INVALID, an invalid argument",
    3: "NRT_INVALID_HANDLE",
    7: "NRT_QUEUE_FULL",
    13: "NRT_UNINITIALIZED",
    14: "NRT_CLOSED",
    15: "NRT_QUEUE_EMPTY",
    1002: "NRT_EXEC_BAD_INPUT",
    1004: "NRT_EXEC_COMPLETED_WITH_ERR",
    1100: "NRT_COLL_PENDING",
}
_WHERE = r"(?:\[?(?:ND|nd|MLA|Neuron Device) ?:?(?P<nd>\d+)\]?[: ]{0,2}\[?(?:NC|nc) ?(?P<nc>\d+)\]?)?"

RULES = (
    fault(
        "status", "", ("tatus", "err: ", "error code", "NRT error"),
        r"(?:nrt|NRT|Nrt|neuron|Neuron|NN:|Inference completed|model|message=|tensor|NEFF"
        r"|execut)[^\n]{0,160}?(?:[Ss]tatus(?:[_ ]code)?|err|error code"
        r"|NRT error)[:= (]{1,3}(?P<status>\d{1,4})(?!\d|\.\d)|^(?:[\w.]*(?:Error"
        r"|Exception): )?[^\n]{0,40}\b[Ss]tatus(?:_code)?[:= ]{1,2}(?P<status2>\d{1,4})[, ]+(?:error )?message",
        "The runtime's status number", STATUS_DOC, table=STATUS, key="status",
        but=("HTTP", "http", "exit status", "Client Error", "Server Error"),
    ),
    fault(
        "status-name", "", ("NRT_", "NERR_"),
        r"\b(?P<status_name>(?:NRT|NERR)_[A-Z_]+[A-Z])\b",
        "The same by its name", STATUS_DOC, table=NAMES, key="status_name",
    ),
    after(
        "status-without-class", "unknown", ("tatus", "err: ", "error code", "NRT error"),
        r"(?:\bnrt|NRT|Nrt|^\s*(?:[\w.]*(?:Error|Exception): ))[^\n]{0,160}?\b(?:[\w.]*[Ss]tatus(?:[_ ]code)?|err|error code|NRT error)[:= (]{1,3}(?P<status>\d{1,4})(?!\d|\.\d)",
        "The runtime failed with a status that names no cause", STATUS_DOC,
        table={"0": "", "200": "", "5": "", **dict.fromkeys(STATUS, "")}, key="status", tier=0, alone=True,
        but=("HTTP", "http", "exit status", "Client Error", "Server Error"),
        say="The Neuron runtime failed with status {status} ({status_words})",
        hint="The status does not say why: the ERROR lines of the runtime just before it do. NEURON_RT_LOG_LEVEL=INFO shows more of them.",
    ),
    after(
        "status-name-without-class", "unknown", "NRT_",
        r"\b(?P<status_name>NRT_(?:FAILURE|INVALID(?:_HANDLE)?|QUEUE_FULL|QUEUE_EMPTY|UNINITIALIZED|CLOSED|EXEC_BAD_INPUT|EXEC_COMPLETED_WITH_ERR))\b",
        "The same by its name", STATUS_DOC, tier=0, alone=True,
        say="The Neuron runtime failed with {status_name}, which names no cause",
        hint="The status does not say why: the ERROR lines of the runtime just before it do. NEURON_RT_LOG_LEVEL=INFO shows more of them.",
    ),
    fault(
        "container-device", "no_device",
        ("adding custom device", "running hook", "prestart hook", "OCI runtime", "device plugin", "nsufficient aws.amazon.com/neuron"),
        r"(?:adding custom device|OCI runtime|running (?:prestart )?hook)[^\n]{0,1200}neuron|nsufficient aws\.amazon\.com/neuron\w*|neuron[^\n]{0,60}device plugin[^\n]{0,60}(?:fail|error|not )",
        "The container runtime or the scheduler could not hand over a Neuron device", ISSUES,
        say="The container got no Neuron device",
        hint="Check that /dev/neuron0 exists on the host, that the driver is loaded there, and that the OCI hook or the Kubernetes device plugin is the release of that driver.",
    ),
    fault(
        "status-timeout", "timeout_hang", ("NRT_TIMEOUT", "tatus", "err: 5", "Timeout Exceeded"),
        r"\b(?P<status_name>NRT_TIMEOUT)\b"
        r"|(?:nrt|NRT|execut|Inference|model)[^\n]{0,120}?(?:[Ss]tatus(?:_code)?|err)[:= ]{1,2}(?P<status>5)(?!\d)",
        "A time-out is often what a hardware fault or a lost rank looks like, so those come first", STATUS_DOC,
        tier=2, but=("HTTP", "exit status"),
    ),
    # -- hardware
    fault(
        "hardware", "hw_error",
        (
            "ncorrectable", "NEURON_HW_ERR", "abort state", "DMA abort", "DMA_ABORT", "Hardware failure",
            "CRITICAL HW ERROR", "parity error", "engines are running", "UNIT_UNRECOVERABLE", "unit unrecoverable",
            "out of service", "ILLEGAL INSTRUCTION", "Timestamp program", "end timestamp sync", "HAL init failed",
            "ecc_uncorrected", "wait_ncs_ready", "failed to reset", "error string:", "AER: ",
        ),
        r"(?:\[?(?:ND|nd|MLA) ?:?(?P<nd>\d+)\]?[: ,]{0,2}(?:\[?(?:NC"
        r"|nc) ?(?P<nc>\d+)\]?)?[^\n]{0,120}?)?(?:[Uu]ncorrectable(?: \w+)? (?:memory )?error"
        r"|NEURON_HW_ERR=(?P<name>\w+)|DMA (?:TX|RX) engine \d+ is in an abort state|DMA[ _](?:abort|ABORT)"
        r"|Hardware failure|CRITICAL HW ERROR|parity error|engines are running|UNIT_UNRECOVERABLE|unit unrecoverable"
        r"|out of service|ILLEGAL INSTRUCTION|Timestamp program stop timeout|end timestamp sync|HAL init failed"
        r'|Uncorrectable|ecc_uncorrected[\":= ]+[1-9]|tdrv_init_wait_ncs_ready|failed to reset|error string:\w*ERROR'
        r"|AER: [^\n]*[Uu]ncorrect)",
        "The device reports a fault, or was left running by an earlier process", NEURON_DOC,
        but=('ecc_uncorrected": 0', "ecc_uncorrected: 0"),
    ),
    # -- execution
    fault(
        "out-of-bounds", "index_oob", ("ut-of-bound", "ut of bound", "ut of range in self", "out of range in self"),
        r"(?:nd(?P<nd>\d+):nc(?P<nc>\d+)[^\n]*)?(?:due to out-of-bound access|[Oo]ut[- ]of[- ]bounds? (?:access"
        r"|gather|scatter|ind(?:ex|ices))|(?:gather|scatter)[^\n]{0,40}out[- ]of[- ]bounds?"
        r"|indirect memcop\w+[^\n]{0,60}out of bound|index out of range in self|(?:index"
        r"|Target) (?P<index>-?\d+) is out of bounds)",
        "An index points behind a tensor: a token or a position is larger than its table", NEURON_DOC,
        but=("Allocated memory out of bound", "ccess pattern"),
    ),
    fault(
        "numbers", "numerical_mismatch", ("umerical error", "NUMERICAL"),
        r"numerical errors? \(NaN\)|INFER_ERROR_SUBTYPE_NUMERICAL|with numerical errors?",
        "The device saw NaN", NEURON_DOC,
    ),
    fault(
        "exec-timeout", "timeout_hang",
        (
            "execution timeout", "inference timeout", "suspected hang", "Missing infer_status",
            "missing collectives status", "is stuck after", "Operation timed out",
        ),
        r"(?:execution|inference) timeout \((?P<ms>\d+) ?ms\)(?: on (?:Neuron Device (?P<nd>\d+) NC (?P<nc>\d+))?)?"
        r"|suspected hang|Missing infer_status|missing collectives status|is stuck after|Operation timed out",
        "A graph did not finish in its time", NEURON_DOC, tier=2, but=("NON-FATAL",),
    ),
    # -- cores
    fault(
        "cores-busy", "cores_busy",
        (
            "Core(s) not available", "cores busy", "core busy", "cores are in use", "core is in use", "NC_BUSY",
            "already in use by", "in use by", "held by",
        ),
        r"Core\(s\) not available[^\n]*?Requested:? ?(?P<cores>[\w-]+)? Available:? ?0|cores busy"
        r"|[Nn]euron ?[Cc]ores? (?:is |are )?(?:busy|already in use|in use)"
        r"|(?:[Nn]euron ?(?:[Dd]evice|[Cc]ore)s?|/dev/neuron)\W{0,3}(?P<cores2>(?:nd|nc)?\d[\w-]*)?\W{0,3}(?:is |are )?(?:already |still )?(?:in use|held)"
        r" by[^\n\d]{0,40}(?P<holder_pid>\d+)?",
        "Cores belong to one process at a time; none is free", NEURON_DOC, but=("neuroncores_in_use",),
    ),
    fault(
        "cores-fewer", "core_count", "Core(s) not available",
        r"Core\(s\) not available[^\n]*?Requested:? ?(?P<cores>[\w-]+)? Available:? ?(?P<available>[1-9]\d*)",
        "More cores are asked for than there are", NEURON_DOC, but=("busy", "-16"),
    ),
    fault(
        "device-busy", "cores_busy", "esource busy",
        r"[Rr]esource busy[^\n]*/dev/neuron|(?:/dev/neuron|the nd\d)[^\n]*[Rr]esource busy",
        "Somebody has the device open", LINUX,
    ),
    fault(
        "core-count", "core_count",
        (
            "nsupported topology", "not contiguous", "VNC id", "nough NCs", "nsufficent NCs",
            "nsufficient number of", "more than one device per process", "nvalid device id", "VISIBLE_CORES",
            "NUM_CORES", "LOGICAL_NC_CONFIG", "logical-nc-config", "Logical Neuron Core (LNC)", "lnc", "LNC",
            "neuron cores", "NeuronCores", "neuron devices", "logical core", "VIRTUAL_CORE_SIZE", "device ordinal",
            "device index", "visible neuron",
        ),
        r"[Uu]nsupported topology(?:\.? Supported number of Neuron Cores is (?P<supported>[^.\n]+))?"
        r"|[Nn]euron cores are not contiguous|Could not find VNC id|[Nn]ot enough NCs"
        r"|insuffici?ent (?:number of )?(?:NCs|NeuronCores|[Nn]euron cores)|more than one device per process"
        r"|[Ii]nvalid device id:? ?(?P<asked>\d+)\. Valid range is 0 to (?P<last>\d+)|(?i:invalid|unsupported"
        r"|not valid|out of range|unable to parse|cannot parse|bad value)[^\n]{0,60}(?:NEURON_RT_VISIBLE_CORES"
        r"|NEURON_RT_NUM_CORES|NEURON_LOGICAL_NC_CONFIG|NEURON_RT_VIRTUAL_CORE_SIZE)|(?:NEURON_RT_VISIBLE_CORES"
        r"|NEURON_RT_NUM_CORES|NEURON_LOGICAL_NC_CONFIG|NEURON_RT_VIRTUAL_CORE_SIZE)[^\n]{0,80}(?i:invalid"
        r"|unsupported|not valid|out of range|exceed|but only|not a valid|greater than|must be|mismatch"
        r"|does not match)|(?i:lnc|logical[- ]nc[- ]config|Logical Neuron Core)[^\n]{0,60}(?i:not supported"
        r"|unsupported|mismatch|does not match|must match|invalid|only lnc)"
        r"|(?i:unsupported|invalid|mismatch\w*)[^\n]{0,40}\b(?:LNC|lnc|[Ll]ogical Neuron Core)\b|(?i:(?:requested"
        r"|requires?|asked for|needs?|world[_ ]size)[^\n]{0,40}?(?P<asked2>\d+)[^\n]{0,40}(?:but only|only|exceeds"
        r"|but|>)[^\n]{0,20}?(?P<available2>\d+)[^\n]{0,30}(?:neuron ?cores?|neuron devices?|logical cores?))"
        r"|(?i:invalid device ordinal|device (?:index|ordinal)[^\n]{0,20}out of range|(?:tp|tp_size|world[_ ]size"
        r"|nprocs?|ranks?|cores?)\W{1,3}(?P<asked3>\d+)[^\n]{0,30}(?:exceeds|>|is more than|larger than"
        r"|greater than)[^\n]{0,50}(?:neuron ?cores?|neuron devices?|logical cores?|device_count"
        r"|visible)\D{0,20}(?P<available3>\d+)?)",
        "The number or kind of cores is not one this host or chip has", NEURON_DOC, but=("nrt_infodump",),
    ),
    fault(
        "device-missing-1", "core_count", "Could not open the nd",
        r"Could not open the nd(?P<nd>[1-9]\d*)",
        "A device number that this instance does not have", NEURON_DOC, tier=2,
    ),
    # -- device and driver
    fault(
        "no-device", "no_device",
        (
            "euron device", "euron Device", "Could not open the nd0", "/dev/neuron", "compatible Driver version",
            "Neuron Driver version", "euron driver", "Neuron Driver", "device_count != 0", "neuron.is_available",
            "device_count()", "device information from the driver", "NeuronCores", "NEURON device",
            "rchitecture not found", "neuron module", "Module neuron",
        ),
        r"has no [Nn]euron devices|neuron\.is_available\(\)\W{0,8}(?:False|false)"
        r"|device_count\(\)\W{0,8}(?:returned )?0\b|Unable to read device information from the driver"
        r"|[Nn]o [Nn]euron devices? (?:is |are |was |were )?(?:available|found|visible|detected|present)"
        r"|(?i:failed to|could not|cannot|unable to) (?:discover|find|detect|open"
        r"|access) (?:any )?(?i:neuron devices?)|Could not open the nd0"
        r"|Unable to (?:determine|read compatible) (?:Neuron )?Driver version|Assertion `device_count != 0'"
        r"|[Aa]rchitecture not found|(?:[Pp]ermission denied|[Nn]o such file or directory|[Oo]peration not permitted"
        r"|No such device)[^\n]{0,40}/dev/neuron|/dev/neuron\S*[^\n]{0,60}(?:[Pp]ermission denied|[Nn]o such file"
        r"|not (?:found|accessible|present)|does not exist|No such device|Operation not permitted)"
        r"|(?i:neuron (?:driver|kernel module|module)[^\n]{0,30}(?:not (?:loaded|installed|found|running)))"
        r"|Module neuron not found|cannot determine the number of available NeuronCores"
        r"|(?:0|[Zz]ero) (?:NEURON|[Nn]euron) devices",
        "The runtime finds no device file or no driver behind it", NEURON_DOC, but=("nrt_infodump", "esource busy"), tier=3,
    ),
    fault(
        "driver", "driver_mismatch",
        (
            "compatibility id", "Neuron Driver version", "hardware operator code", "failed programming the engine",
            "dkms", "driver version", "euron driver", "euron Driver",
        ),
        r"\(?compatibility id:? (?P<runtime_compat>\d+)\)?"
        r"|supports Runtime compatibility id range:? (?P<driver_compat>\d+ ?- ?\d+)"
        r"|(?:requires?|needs?) (?:at least )?(?:[Nn]euron )?[Dd]river (?:version )?(?:>=? ?)?(?P<want>\d[\d.]+)"
        r"|[Uu]nsupported hardware operator code (?P<op>\d+)|aws_hal_tpb_pooling_write_profile +failed"
        r"|(?i:(?:please )?(?:make sure to )?(?:upgrade|update) (?:to (?:the )?latest )?aws-neuronx?-dkms)"
        r"|(?i:driver version \(?(?P<have>\d[\d.]+)\)?[^\n]{0,50}(?:not supported|too old|incompatible|unsupported"
        r"|older than|is below))|(?i:incompatible[^\n]{0,30}driver version)",
        "Runtime library and kernel module are of different releases", NEURON_DOC,
    ),
    fault(
        "device-string", "version_mismatch",
        ("device string: neuron", "Invalid backend", "InvalidBackend", "invalid device string"),
        r"at start of device string: neuron|Invalid backend:? '?neuron|invalid device string:? '?neuron",
        "torch knows no device or backend of this name: the native torch-neuronx is not the one installed, or was not loaded", TORCH,
    ),
    fault(
        "uninitialised", "distributed_comm", ("re-initialize Neuron runtime", "before the init_process_group"),
        r"Cannot re-initialize Neuron runtime in forked subprocess"
        r"|should not be initialized before the init_process_group",
        "Processes were started in a way in which they cannot share the runtime", NATIVE, tier=2,
    ),
    fault(
        "init-failed", "no_device",
        (
            "nrt_init failed", "Failed to initialize Neuron Runtime", "Neuron runtime cannot be initialized",
            "untime could not be initialized",
        ),
        r"nrt_init failed|Failed to initialize Neuron Runtime|Neuron [Rr]untime (?:cannot|could not) be initialized",
        "The runtime did not start; without another line there is no device to start on", ISSUES, tier=1,
    ),
)  # fmt: skip
