"""Processes: ranks that cannot meet or lose each other, launchers' words about it, waits, and who ended the run."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import (
    ISSUES,
    LINUX,
    NEURON_DOC,
    TORCH,
    TRAIN_DOC,
    after,
    fault,
    noise,
    result,
    waits,
)

# Exit codes with a class of their own (signals, `timeout`), which other rules read.
_TOLD = dict.fromkeys(("0", "124", "129", "130", "137", "143", "-2", "-9", "-15"), "")
_NO_REASON = "The output does not name the reason. Look at the lines before the end, or run it again in the foreground with its output kept."

RULES = (
    fault(
        "port", "distributed_comm", ("ddress already in use", "EADDRINUSE", "Errno 98", "failed to listen"),
        r"(?:port:? ?|:|\b)(?P<port>\d{4,5})\b[^\n]{0,120}(?:[Aa]ddress already in use|EADDRINUSE)"
        r"|(?:[Aa]ddress already in use|EADDRINUSE)(?:[^\n]{0,80}?(?::|port:? ?)(?P<port2>\d{4,5}))?"
        r"|failed to listen on any local network address\. port: (?P<port3>\d+)|\[Errno 98\]",
        "The port at which the ranks meet is taken, often by an earlier run", TORCH, tier=3,
    ),
    fault(
        "rendezvous", "distributed_comm",
        (
            "DistStoreError", "RendezvousConnection", "RendezvousTimeout", "RendezvousClosed", "waiting for clients",
            "rendezvous", "Rendezvous", "DistNetworkError", "client socket has", "TCPStore", "connectFullMesh",
            "Bootstrap", "bootstrap", "Could not start gRPC", "NCCL init", "Net : ", "name resolution",
            "MASTER_ADDR", "the process group",
        ),
        r"DistStoreError|Rendezvous(?:Connection|Timeout|Closed)Error|waiting for clients"
        r"|[Rr]endezvous[^\n]{0,60}(?:failed|timed? ?out|error)|DistNetworkError"
        r"|client socket has (?:failed|timed out)[^\n]{0,120}?(?:\(?[\w.:\[\]-]*?[:, ]+(?P<port>\d{4,5})\)?)?"
        r"|connectFullMesh|(?:nccl|neuron)Bootstrap\w* *[^\n]{0,20}failed|failed (?:neuron)?Bootstrap\w* request"
        r"|Could not start gRPC server|TCPStore[^\n]{0,80}(?:[Cc]onnection refused|timed? ?out|failed)"
        r"|[Cc]onnection refused[^\n]{0,60}TCPStore|MASTER_ADDR[^\n]{0,60}(?:not set|missing|expected|cannot)"
        r"|environment variable MASTER_\w+ expected",
        "The ranks did not find each other", TORCH, tier=2,
        but=(
            "- retrying", "Connection reset by peer", "Connection was likely closed", "recvValue failed",
            "sendBytes failed",
        ), passing=True,
    ),
    fault(
        "communicator", "distributed_comm", ("BuildGlobalComm", "enc_init_comm", "less channels", "global comm", "ROOT_COMM_ID"),
        r"BuildGlobalComm failed|enc_init_comm[^\n]{0,160}(?:fail|error|less channels)|less channels than"
        r"|[Ff]ailed to (?:init\w*|build|create) (?:the )?global comm|NEURON_RT_ROOT_COMM_ID[^\n]{0,60}(?:not set|missing|invalid|required|must be)",
        "The runtimes of the ranks built no communicator with each other", ISSUES, tier=2,
        say="The ranks could not build a communicator with each other",
        hint="Set NEURON_RT_ROOT_COMM_ID to one address and port for all ranks, check that the hosts reach each other there, and use a number of cores that the chip can group.",
    ),
    fault(
        "refused", "distributed_comm", ("onnection refused", "ECONNREFUSED", "Connect to "),
        r"(?:localhost|127\.0\.0\.1|\[::1\]|master|\d+\.\d+\.\d+\.\d+)[^\n]{0,60}(?:[Cc]onnection refused"
        r"|ECONNREFUSED)|Connect to \S+ failed(?! - retrying)",
        "Nobody listens where the ranks should meet", TORCH, tier=1,
        but=("huggingface", "hf.co", "HTTPS", "http", "- retrying", "proxy", "Proxy"), passing=True,
    ),
    fault(
        "watchdog", "timeout_hang",
        (
            "Watchdog caught", "ollective operation timeout", "Work timed out", "monitoredBarrier",
            "timed out after", "Timed out waiting", "no output for", "o progress for", "run timed out",
            "TimeoutExpired", "imed out after", "not finish within", "not finish in", "TIMEOUT", "ime limit",
        ),
        r"Watchdog caught collective|[Cc]ollective operation timeout|Work timed out"
        r"|monitoredBarrier[^\n]*(?:timed? ?out|failed)"
        r"|(?:[Rr]un|[Jj]ob|[Cc]ompil\w+|[Pp]rocess|[Cc]ommand|execution)[^\n]{0,80}timed out after (?P<seconds>\d+)"
        r"|^(?:\w*[Ee]rror: )?(?:[Tt]imed out|TIMEOUT|[Tt]imeout)(?:[.!]?\s*$|: | after (?P<seconds2>\d+) ?s)"
        r"|did not finish (?:with)?in (?:its |the )?(?:(?P<seconds3>\d+) ?s(?:ec\w*)?|time)"
        r"|(?i:no (?:output|progress) for) (?P<minutes>[\d.]+) min|TimeoutExpired"
        r"|Timed out waiting (?P<ms>\d+)ms for (?:recv|send)",
        "Somebody waited and gave up", TORCH, tier=2, but=("waiting for clients", "Read timed out"),
    ),
    waits(
        "rx", "timeout_hang", ("waiting for RX", "waiting for TX", "waited "),
        r"Timeout waiting for [RT]X \(waited (?P<seconds>\d+) ?sec\)",
        "A rank waits in a collective for one that is behind, compiling as a rule", TRAIN_DOC,
    ),
    waits(
        "idle-compiler", "timeout_hang", ("neuronx-cc", "neuron-cc"),
        r"^\s*(?:\d+ +)?(?:\d+-)?(?P<elapsed>\d{2}:\d{2}:\d{2}) +(?P<cpu>\d+\.\d) +\S*neuronx?-cc",
        "ps: the compiler has used no CPU for long", LINUX, key="idle",
    ),
    waits(
        "retrying", "timeout_hang", "failed - retrying",
        r"Connect to \S+ failed - retrying",
        "A rank waits for another to start listening", NEURON_DOC, tier=0,
    ),
    # -- what the end of one rank does to the others
    after(
        "peer", "distributed_comm",
        (
            "closed by remote peer", "losed by peer", "reset by peer", "roken pipe", "ocket closed",
            "recvValue failed", "sendBytes failed", "Connection was likely closed", "emote process has exited",
            "ost connection", "peer rank", "Connection aborted", "lost its peer",
        ),
        r"closed by remote peer|[Cc]onnection (?:was )?closed by peer|[Cc]onnection reset by peer|[Bb]roken pipe"
        r"|[Ss]ocket closed|recvValue failed|sendBytes failed|Connection was likely closed|emote process has exited"
        r"|[Ll]ost connection to",
        "The other side went away; why, another line says", TORCH, tier=2, but=("huggingface", "hf.co"),
    ),
    after(
        "launcher", "",
        (
            "ChildFailedError", "exitcode", "Root Cause", "EngineCore", "ProcessRaisedException",
            "ProcessExitedException", "exit code", "exit status", "Engine core", "terminated with exit",
            "rank 0 exited", "exited with",
        ),
        r"ChildFailedError|exitcode *: *-?\d+|Root Cause \(first|EngineCore(?:_DP\d)? failed"
        r"|Engine core initialization failed|Process(?:Raised|Exited)Exception"
        r"|(?:exited|terminated|died|ended|finished)[^\n]{0,40}(?:exit (?:code|status)|code|status) ?-?[1-9]\d*"
        r"|exit(?:ed)? (?:code|status)[: ]+-?[1-9]\d*",
        "A launcher reports that somebody failed", TORCH, tier=0, passing=True,
    ),
    # -- an end that no rule knows the reason of: no wait and no work that goes on
    after(
        "uncaught", "unknown",
        (
            "Error", "Exception", "core dumped", "Segmentation fault", "Bus error", "Illegal instruction",
            "terminate called", "ommand not found", "can't open file", "SystemExit", "ERROR:", "FATAL:", "fatal:",
            "Fatal:", "error:", "Fatal Python", "panic: ", "panicked at", "Abort trap", "breakpoint trap", "double free",
            "free(): ", "malloc(): ", "munmap_chunk", "corrupted ", "stack smashing", "buffer overflow", "received signal",
            "*** SIG", "Assertion `", "Check failed", "fatal error", "Exception in thread", ".exceptions.", ".cc:", ".cpp:",
        ),
        r"^\s{0,6}(?:\W{0,3}\[?rank ?\d+\]?:? ?|\([^)]{1,40}\) )?(?:(?:[a-zA-Z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception)|Exception)(?:\(\w+\))?"
        r"(?::|\s*$)|[a-z_][\w.]*\.exceptions?\.[A-Z]\w+: |SystemExit: \S|Exception in thread"
        r"|(?:.{0,80}: line \d+: +\d+ )?(?:Segmentation fault|Aborted|Abort trap|Bus error|Illegal instruction|Floating point exception|Trace/breakpoint trap)\b"
        r"|Fatal Python error:|terminate called (?:after|without)|\S+(?: line \d+)?:[^:]*: command not found|\S*python\S*: can't open file"
        r"|panic: \S|fatal error: |thread '[^']*' (?:\(\d+\) )?panicked at|double free or|(?:free|malloc|realloc)\(\): |munmap_chunk\(\)|corrupted (?:size|double)"
        r"|\*\*\* (?:stack smashing|buffer overflow|Process received signal|SIG[A-Z]+)|F(?:\d{4} [\d:.]+ +\d+)? ?[\w./-]+\.(?:cc|cpp|h):\d+\]"
        r"|[^\n]{0,200}Assertion `[^\n]{0,400}failed|[^\n]{0,120}\bCheck failed: "
        r"|(?:\S+: )?(?:ERROR|Error|FATAL|Fatal|fatal|error): \S)",
        "A process ended with an exception or a signal", LINUX, tier=-1, alone=True, passing=True,
    ),
    after(
        "uncaught-behind", "unknown", ("Error", "Exception"),
        r"(?:^|[\s\]|>)}:])(?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: |\s*$)",
        "The same behind a prefix that nobody knows, below a traceback", LINUX, tier=-2, alone=True, near="traceback",
    ),
    after(
        "traceback", "unknown", "Traceback (most recent call last)",
        r"Traceback \(most recent call last\)",
        "An exception was printed, whatever stands before and behind its lines", LINUX, tier=-3, alone=True,
    ),
    after(
        "exit-code", "unknown",
        (
            "status=", "*** ", "rc", "RC", "eturncode", "eturn code", "exit", "Exit", "EXIT", "retval", "RETVAL",
        ),
        r"\bstatus=(?P<exit>\d{1,3})/[A-Zn]|^make(?:\[\d+\])?: \*\*\* .{0,200}\bError (?P<exit2>\d+)"
        r"|(?:^|[\s\[({,;'\"])(?i:rc|retval|return ?code|exit[ _]?code|exit[ _]?status)[\"']?\s{0,4}[:=]\s{0,3}\(?(?P<exit3>-?\d{1,3})\b"
        r"|(?i:\b(?:exit(?:ed|s)?(?: with)?(?: non-zero)?(?: exit)?(?: code| status)?:?|return(?:ed)? ?code)) (?P<exit4>-?\d{1,3})\b(?!\.\d|[\d/%:])"
        r"|\[exit:? (?P<exit5>\d+)\]|Exited \((?P<exit6>\d+)\)|^\[\d+\][+-]? +Exit (?P<exit7>\d+)|^\W*(?i:exit|rc)[ :=]+(?P<exit8>\d{1,3})\W*$",
        "The command ended with an exit code that is not 0", LINUX, tier=-2, key="exit", table=_TOLD, passing=True,
        but=("ompiler", "ompilation", "neuronx-cc", "early exit", "Early exit"),
        say="Ended with exit code {exit}, and the output does not say why", hint=_NO_REASON,
    ),
    after(
        "exit-code-asked", "unknown", "echo $?",
        r"echo \$\?",
        "The same, asked for by the user", LINUX, asks="exit", key="exit", tier=-2, table=_TOLD, passing=True,
        say="Ended with exit code {exit}, and the output does not say why", hint=_NO_REASON,
    ),
    result(
        "exit-zero-asked", "", "echo $?",
        r"echo \$\?",
        "The command ended well, asked for by the user", LINUX, asks="exit", key="exit", table={"0": "in_progress"},
        say="Ended with exit code 0, without a PASS or a FAIL of its own",
        hint="Nothing failed, and nothing was checked: run it with a check to get a verdict.",
    ),
    result(
        "exit-zero", "in_progress", ("0/SUCCESS", "exit", "Exit", "eturncode", "eturn code", "rc"),
        r"\bstatus=0/SUCCESS|^(?:Process|Command|Job|Script|Container|Program|Task)\b[^\n]{0,80}?(?:exit(?:ed)?(?: with)?(?: code| status)?|return ?code)[ :=]{1,3}0\b"
        r"|^\W*(?i:exit(?:ed)?(?: with)?(?:[ _]?code|[ _]?status)?|return ?code|rc)[ :=]{1,3}0\W*$",
        "The command ended well", LINUX,
        say="Ended with exit code 0, without a PASS or a FAIL of its own",
        hint="Nothing failed, and nothing was checked: run it with a check to get a verdict.",
    ),
    # -- who ended it
    fault(
        "ctrl-c", "interrupted",
        (
            "KeyboardInterrupt", "^C", "SIGINT", "nterrupted by user", "ancelled by user", "topped by the user",
            "topped by user",
        ),
        r"\bKeyboardInterrupt\b|^\s*(?:[.*]*)\^C|\(?SIGINT\)?|[Ii]nterrupted by (?:the )?user"
        r"|[Cc]ancelled by (?:the )?user|[Ss]topped by (?:the )?user",
        "Somebody pressed Ctrl-C", LINUX, tier=3,
    ),
    fault(
        "hangup", "interrupted", ("SIGHUP", "ignal: 1", "Hangup", "ignal 1 ", "onnection to ", "client_loop", "129"),
        r"SIGHUP|got signal: 1\b|^(?:.{0,80}: line \d+: +\d+ )?\s*Hangup\b|[Ss]ignal 1 \("
        r"|(?:client_loop: send disconnect|Connection to \S+ closed by remote host)|exit (?:code|status)[: ]+129\b",
        "The session that had started it was closed", LINUX, tier=3,
    ),
    fault(
        "death-signal", "interrupted", "death signal",
        r"Received (?:Signals\.SIG(?:HUP|INT|TERM)|\d+) death signal",
        "The launcher was told to end", TORCH, tier=3,
    ),
    fault(
        "cancelled", "interrupted",
        (
            "CANCELLED", "pot interruption", "pot instance", "shutting down", "going down", "System is going down",
            "preempt", "Preempt", "received SIGTERM", "Received SIGTERM", "got signal: 15", "ignal 15",
            "instance-action",
        ),
        r"slurmstepd: error: \*\*\*[^\n]*CANCELLED"
        r"|[Ss]pot (?:interruption|instance)[^\n]{0,40}(?:notice|terminat|interrupt|stop)|system is going down"
        r"|\b[Pp]reempt(?:ed|ion)|[Rr]eceived SIGTERM|got signal: 15|[Ss]ignal 15|instance-action",
        "The host or a scheduler ended it", LINUX, tier=2,
        but=("Sending process", "closing signal", "(SIGTERM) received by PID"),
    ),
    fault(
        "terminated", "interrupted", ("Terminated", "143", "-15", "SIGTERM", "130"),
        r"^\s*(?:.{0,80}: line \d+: +\d+ )?Terminated\b|(?:exit(?:ed)?(?: with)?(?: code| status)?|exitcode|returncode"
        r"|rc)[\s:=]{1,8}\(?(?P<exit>143|-15|130|-2)\b|\(SIGTERM\)",
        "Ended by a signal that is sent on purpose", LINUX, tier=1, but=("Sending process", "closing signal"),
    ),
    fault(
        "exit-said", "", "echo $?",
        r"echo \$\?",
        "The exit code of the command before, asked for by the user", LINUX, asks="exit", key="exit", tier=1,
        table={
            "137": "host_oom",
            "124": "timeout_hang",
            "130": "interrupted",
            "143": "interrupted",
            "129": "interrupted",
        },
    ),
    fault(
        "timeout-exit", "timeout_hang", "124",
        r"(?:exit(?:ed)?(?: with)?(?: code| status)?|exitcode|returncode|rc)[\s:=]{1,8}\(?(?P<exit>124)\b",
        "coreutils' timeout ended it", LINUX, tier=1,
    ),
    noise(
        "ofi", ("OFI", "Ofi plugin", "EFA", "FI_EFA_FORK_SAFE", "Multi-node support", "ofi_plugin", "libfabric"),
        r"OFI plugin|Ofi plugin|EFA is not|EFA[^\n]{0,30}(?:not (?:enabled|found|installed|available)|[Nn]o )"
        r"|[Nn]o EFA|FI_EFA_FORK_SAFE|Multi-node support will be disabled|multi-instance|NET/OFI",
        "Of no interest on one host", NEURON_DOC, but=("NRT_", "TIMEOUT"),
    ),
    noise(
        "closing",
        (
            "nrt_close", "Notifications not initialized", "improper teardown", "nrtucode: internal error",
            "TPURoundRobin", "TpuHandleToProtoKey", "NON-FATAL",
        ),
        r"nrt_close|Notifications not initialized|improper teardown|TPURoundRobin|TpuHandleToProtoKey"
        r"|\(NON-FATAL, Ignoring\)",
        "States on the way out, and messages documented as harmless", TRAIN_DOC,
    ),
    noise(
        "deprecated",
        (
            "deprecated", "DeprecationWarning", "FutureWarning", "TOKENIZERS_PARALLELISM", "huggingface/tokenizers",
            "just got forked", "destroy_process_group", "resource_tracker", "leaked semaphore", "PendingDeprecation",
        ),
        r"deprecated|Deprecation|FutureWarning|TOKENIZERS_PARALLELISM|huggingface/tokenizers|got forked"
        r"|destroy_process_group\(\) was not called|resource_tracker|leaked semaphore",
        "Remarks", TORCH, but=("NCC_", "NRT_", "KeyboardInterrupt"),
    ),
    noise(
        "infodump", "nrt_infodump",
        r"nrt_infodump(?![^\n]*Failure:)",
        "The runtime's dump of its environment; only its line Failure: says something", NEURON_DOC,
    ),
    noise(
        "closing-signal", "closing signal",
        r"Sending process \d+ closing signal",
        "The launcher ends the other ranks", TORCH,
    ),
)  # fmt: skip
