"""Work beside the screen: a daemon thread whose answer comes back on the app's own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from trnui_runner.common.errors import UserError

Then = Callable[[], None]


async def beside(work: Callable[[], Then], name: str, refused: Callable[[str], None]) -> Then | None:
    """What `work` returns; for its UserError a call of `refused` with its words; None for any other error, which is the
    thread's own (threading.excepthook).

    Textual's thread workers run in asyncio's executor, which leaving would wait for: up to 12 s with a request to the Hub
    under way. A daemon thread ends with the app.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Then | None] = loop.create_future()

    def bring(then: Then | None) -> None:
        if not answer.done():
            answer.set_result(then)

    def run() -> None:
        then: Then | None = None
        try:
            then = work()
        except UserError as error:
            words = str(error)
            then = lambda: refused(words)  # noqa: E731
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the app has gone
                loop.call_soon_threadsafe(bring, then)

    threading.Thread(target=run, daemon=True, name=name).start()
    return await answer
