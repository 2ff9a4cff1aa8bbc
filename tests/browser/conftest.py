"""Chromium against a real server; an external request or a page error fails the test."""

import os
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.studio.small_models import models as models  # a fixture

PATIENCE = 120_000  # ms; a busy machine is slow, not wrong
expect.set_options(timeout=PATIENCE)
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"


ALONE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"  # no name leads anywhere


@contextmanager
def serving(registry):
    """A server on a free loopback port, in a thread; yields its address."""
    config = uvicorn.Config(
        make_app(registry), port=0, log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, started once per session."""
    assert Path(BROWSER).exists(), f"no browser at {BROWSER}: apt-get install chromium"
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", ALONE])
        yield started
        started.close()


@pytest.fixture(scope="session")
def address(models):
    """Address of a studio with the small models."""
    with serving(ModelRegistry(models)) as url:
        yield url


def new_context(browser, **options):
    """A browser context; `options` change its viewport, color_scheme …"""
    context = browser.new_context(
        **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
    )
    context.set_default_timeout(PATIENCE)
    return context


@pytest.fixture(scope="session")
def shared_context(browser, address):
    """A context for all pages of the studio; the first page keeps its renderer process alive."""
    context = new_context(browser)
    context.new_page().goto(f"{address}/static/icon.svg")
    yield context
    context.close()


def current_url(page):
    """The URL as the page has it; `page.url` may lag behind it."""
    return page.evaluate("location.href")


class Studio:
    """Opens pages of the studio and records errors, dialogs and external requests."""

    def __init__(self, browser, address, shared_context=None):
        self.browser, self.address, self.shared_context = browser, address, shared_context
        self.contexts, self.wrong, self.foreign = [], [], []
        if shared_context:
            shared_context.on("request", self._filter_request)

    def open(self, path="/", *, wait=True, **options):
        """Open a path; with `options`, or without a shared context, in a context of its own."""
        context = self.shared_context
        if options or not context:
            context = new_context(self.browser, **options)
            self.contexts.append(context)
            context.on("request", self._filter_request)
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._record_console)
        page.on("dialog", self._dialog)
        page.goto(self.address + path)
        if wait:
            page.wait_for_selector("#view h1")
        return page

    def _filter_request(self, request):
        """Abort and record every request to another host."""
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.foreign.append(request.url)

    def _record_console(self, message):
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog):
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def close(self):
        for context in self.contexts:
            context.close()
        if self.shared_context:
            first, *pages = self.shared_context.pages
            for page in pages:
                page.close()
            first.evaluate("localStorage.clear()")
            self.shared_context.remove_listener("request", self._filter_request)


@pytest.fixture
def studio(browser, address, shared_context):
    """Opens pages; fails at teardown after any error or external request."""
    opened = Studio(browser, address, shared_context)
    yield opened
    opened.close()
    assert not opened.foreign
    assert not opened.wrong
