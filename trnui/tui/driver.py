"""Textual's Linux driver with an input thread that can be woken: leaving takes no 0.2 s of waiting for it.

Textual's own thread looks every 0.1 s whether it shall end, then reads once more for up to 0.1 s, and `disable_input` joins
it meanwhile. Here a pipe ends the wait. Bytes that are not UTF-8 (legacy mouse reports) are replaced; Textual 8.2.8 dies of them.
"""

from __future__ import annotations

import codecs
import os
import selectors
import termios

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from trnui.tui.terminal import to_ascii


class QuickDriver(LinuxDriver):
    _wake: int | None = None  # write end of the pipe

    def resume_application_mode(self) -> None:
        """After `fg`: the screen was cleared, and nothing that Textual would send has changed. A hang-up wakes the app too
        (SIGCONT comes with SIGHUP): then there is no terminal, and whatever is written blocks the end."""
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            return
        super().resume_application_mode()
        self._loop.call_soon_threadsafe(self._app.action_redraw)  # type: ignore[attr-defined]  # our app is the only one

    def close(self) -> None:
        """A writer that died with its terminal is not waited for: its queue may be full, and nobody empties it."""
        if self._writer_thread is not None and self._writer_thread.is_alive():
            super().close()

    def disable_input(self) -> None:
        if self._wake is not None:
            os.write(self._wake, b"x")
        super().disable_input()

    def run_input_thread(self) -> None:
        """Reads the terminal until woken or hung up; every event goes to the app as in the parent class."""
        woken, self._wake = os.pipe()
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                selector.register(woken, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    for key, _ in selector.select(
                        0.1
                    ):  # the parser's timer, for an escape that stays alone, needs the tick
                        if key.fd == self.fileno:
                            data = os.read(self.fileno, 4096)
                            if not data:
                                return
                            for message in parser.feed(decode(data)):
                                self.process_message(message)
                    for message in parser.tick():
                        self.process_message(message)
        except OSError:  # the terminal is gone (EIO): SIGHUP, which comes with it, ends the app
            return
        finally:
            os.close(woken)
            os.close(self._wake)
            self._wake = None


class AsciiDriver(QuickDriver):
    """For `--ascii` and terminals that are not UTF-8: whatever is drawn, by us or by Textual, leaves as ASCII of the same width."""

    def write(self, data: str) -> None:
        super().write(data if data.isascii() else to_ascii(data))
