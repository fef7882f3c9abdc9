"""Chromium without a window, for the checks that look at pages. `scripts/setup browser` installs it."""

import contextlib
import shutil

from playwright.sync_api import sync_playwright


@contextlib.contextmanager
def chromium():
    """A browser that ends with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def watch(page, host):
    """A list that gets what goes wrong in the page, and requests to other hosts."""
    problems = []
    page.on("console", lambda message: problems.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: problems.append(f"request: {request.url}")
            if request.url.split("/")[2] != host and not request.url.startswith("data:") else None)
    return problems
