"""Memory and disk: the device's, the host's, the file system's."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import HUB, ISSUES, LINUX, NEURON_DOC, TORCH, TRAIN_DOC, after, fault, moves

RULES = (
    fault(
        "hbm-table", "hbm_oom",
        (
            "Failed to allocate", "Failed to alloc DEVICE", "dev_mem", "device mempool", "TMPBUF", "tmpbuf",
            "on DEVICE",
        ),
        r"Failed to allocate (?P<asked>[\d.]+ ?[KMGT]?i?B(?:ytes)?"
        r"|\d+ bytes)(?: \((?:alignment: \w+, )?usage: (?P<usage>[\w ]+)\))?(?:[^\n]{0,20}? on (?:ND"
        r"|nd) ?(?P<nd>\d+):(?:NC|nc) ?(?P<nc>\d+))?|Failed to alloc DEVICE memory:? ?(?P<bytes>\d+)?"
        r"|device mempool \[(?P<nd2>\d+):(?P<nc2>\d+)\][^\n]*needed (?P<bytes2>\d+)|TMPBUF pages requested exceeded"
        r"|Failed to reserve one tmpbuf",
        "The runtime's own account of what did not fit", NEURON_DOC,
        but=("host memory", "HOST", "shared memory", "shared io"),
    ),
    fault(
        "hbm-load", "hbm_oom",
        (
            "llocation Failure", "NRT allocation failed", "(OOM)", "Failed to allocate resource", "OutOfMemoryError",
            "ut of device memory", "device memory", "ut of memory on neuron", "out of memory", "HBM", "hbm oom", "hbm_oom", "HBM_OOM", "device oom", "device OOM",
        ),
        r"^\W*(?i:hbm|device)[ _-](?i:oom)\b|[Aa]llocation Failure|NRT allocation failed(?: for size (?P<bytes>\d+))?|Failed to allocate resource"
        r"|torch\.(?:\w+\.)?OutOfMemoryError|(?:[Nn]euron|NEURON|HBM|NeuronCore)[^\n]{0,60}out of memory"
        r"|(?:device memory|HBM)[^\n]{0,20}(?:is )?(?:exhausted|ran out|(?<!not )full\b)|[Oo]ut of (?:device|HBM) memory|(?:not enough|insufficient) device memory",
        "The same in the words of the layers above", ISSUES, but=("CUDA", "Killed process", "host memory"),
    ),
    # -- host
    fault(
        "oom-killer", "host_oom",
        (
            "Killed process", "Out Of Memory", "oom-kill", "oom_reaper", "invoked oom-killer", "OOMKilled",
            "oom_kill", "OOM killer", "OOM-killer", "emory cgroup out of memory",
            "low on memory", "host oom", "host OOM", "host_oom", "ran out of host memory", "ran out of RAM", "out of RAM",
        ),
        r"^\W*host[ _-](?i:oom)\b|\b(?:ran )?out of (?:host memory|RAM)\b|task \d+: Out Of Memory|Out of memory: Kill(?:ed)? process (?P<pid>\d+)?|oom[-_]kill|invoked oom-killer"
        r"|OOMKilled|OOM[- ]killer|[Mm]emory cgroup out of memory|running low on memory|Killed process (?P<pid2>\d+)",
        "The kernel says so", LINUX,
    ),
    fault(
        "host-alloc", "host_oom",
        (
            "MemoryError", "annot allocate memory", "an't allocate memory", "bad_alloc", "Errno 12", "host memory",
            "os error 12", "orcibly killed",
        ),
        r"\bMemoryError\b|[Cc]annot allocate memory|can't allocate memory|std::bad_alloc|\[Errno 12\]"
        r"|[Ff]ailed to allocate host memory|os error 12|forcibly killed",
        "The host's allocator gave up, or the compiler says it was killed", LINUX, but=("NRT_RESOURCE", "DEVICE"),
    ),
    fault(
        "compiler-killed", "host_oom", ("-9", "SIGKILL", "ignal 9", "137"),
        r"(?:neuronx?-cc|[Cc]ompil(?:er|ation|e command))[^\n]{0,160}?(?:failed with|returned|returncode|code|status"
        r"|signal|died with)[^\n\d-]{0,16}(?:-9\b|137\b|<?Signals\.SIGKILL|SIGKILL|9\b)",
        "Nobody else kills a compiler with signal 9 than the kernel that is out of memory", ISSUES, tier=2,
    ),
    fault(
        "killed", "host_oom", ("Killed", "SIGKILL", "ignal 9", "137", "-9"),
        r"^(?:.{0,80}: line \d+: +(?P<pid>\d+) )?\s*Killed\s*(?:$|\s{2,}|python|neuronx|torchrun|\./|env )"
        r"|task \d+: Killed|status=9/KILL|\(SIGKILL\)|Signals\.SIGKILL|(?:got|received|by) signal:? 9\b"
        r"|[Ss]ignal 9\b|(?:exit(?:ed)?(?: with)?(?: code| status)?|exitcode|returncode|return code"
        r"|rc)[\s:=]{1,8}\(?(?P<exit>-9|137)\b|(?:terminated|killed|died|exited|ended|stopped)[^\n]{0,30}SIGKILL",
        "A process ended by signal 9 without a word: out of host memory is the usual reason", LINUX, tier=1,
        but=("Sending process", "closing signal"),
    ),
    fault(
        "segment-host", "host_oom",
        ("killed by signal: Killed", "terminated abruptly", "unable to mmap", "DefaultCPUAllocator"),
        r"killed by signal: Killed|unable to mmap \d+ bytes|DefaultCPUAllocator[^\n]*(?:not enough|can't allocate)"
        r"|process pool was terminated abruptly",
        "A helper process of torch or of the compiler was killed", TORCH, tier=2,
    ),
    fault(
        "shared-memory", "host_oom", ("shared memory",),
        r"insufficient shared memory|out of shared memory|raise your shared memory limit",
        "Helper processes pass tensors through /dev/shm, and a container has little of it", TORCH,
        say="Shared memory (/dev/shm) is too small",
        hint="Give the container more of it (--shm-size=16g or --ipc=host), or use fewer data-loader workers.",
    ),
    # -- disk
    fault(
        "quota", "disk_full", ("quota exceeded", "uota exceeded", "Errno 122", "EDQUOT"),
        r"[Qq]uota exceeded|\[Errno 122\]|EDQUOT",
        "The user's share of the file system is used up, whatever the disk has free", LINUX,
        say="Your disk quota is used up",
        hint="Delete files of yours, or point HF_HOME (or the cache that filled) to a place with another quota; what the disk has free does not matter.",
    ),
    fault(
        "disk", "disk_full",
        (
            "No space left", "Errno 28", "ENOSPC", "os error 28", "disk is full",
            "ot enough free disk", "StorageFull",
        ),
        r"No space left on device|\[Errno 28\]|ENOSPC|os error 28|disk is full|StorageFull",
        "The file system took no more", LINUX,
    ),
    moves(
        "disk-warning", "", "ot enough free disk space",
        r"expected file size is: (?P<need_mb>[\d.]+) MB\. The target location \S+ only has (?P<free_mb>[\d.]+) MB",
        "A warning of the hub's client before it downloads; its numbers are facts for a disk that is full in the end", HUB,
        onward=False,
    ),
    after(
        "alloc-peer", "host_oom", "RPC failed with status",
        r"UNAVAILABLE: Socket closed",
        "The server process died; memory is the usual reason", TRAIN_DOC, tier=0,
    ),
)  # fmt: skip
