"""The model's process as the server sees it: started, spoken to, and known to be over."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dhyan.serving.framing import LENGTH, Message, length_of, pack, unpack

Heard = Callable[[Message], None]


class Over(Exception):
    """The process has ended, or says what cannot be understood."""


class Child:
    """A process with one end of a pair of sockets; it ends when the other end closes."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.process, self._reader, self._writer = process, reader, writer
        self.over = asyncio.Event()
        self.heard: Heard = lambda message: None
        self._at_end: Callable[[], None] = lambda: None
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str]) -> "Child":
        """Start `command FD`; its words go to stderr."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sys.stderr if _writable(sys.stderr) else asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for the server, which lets it finish
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            process.kill()
            ours.close()
            raise
        return cls(process, reader, writer)

    def tell(self, **message: Any) -> None:
        """Send it something; a process that is over does not hear it."""
        if not self.over.is_set():
            self._writer.write(pack(message))

    async def ask(self, message: Mapping[str, Any], *, within: float) -> Message:
        """Send it something and wait for the next thing it says."""
        told: asyncio.Queue[Message | None] = asyncio.Queue()
        self.heard = told.put_nowait
        self._at_end = lambda: told.put_nowait(None)
        self.tell(**message)
        if self.over.is_set():
            raise Over
        try:
            answer = await asyncio.wait_for(told.get(), within)
        except TimeoutError:
            answer = None
        if answer is None:
            raise Over
        return answer

    def kill(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def end(self) -> None:
        """End it, and wait until it is gone."""
        self._writer.close()
        self.kill()
        await self.process.wait()
        self._listening.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await self._listening
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _listen(self) -> None:
        try:
            while True:
                length = length_of(await self._reader.readexactly(LENGTH.size))
                self.heard(unpack(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            pass
        finally:
            self.over.set()
            self._at_end()


def _writable(stream: Any) -> bool:
    try:
        os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return False
    return True
