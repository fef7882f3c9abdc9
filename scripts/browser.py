"""Chromium without a window, for the checks that look at pages. `scripts/setup browser` installs it."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)
# Playwright is in a Python of its own, with which the check is run again.
if pathlib.Path(sys.prefix) != ROOT / ".build-setup":
    if subprocess.run(["scripts/setup", "--check", "browser"]).returncode != 0:
        sys.exit(1)
    python = str(ROOT / ".build-setup" / "bin" / "python")
    os.execv(python, [python, *sys.argv])

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


def built(*arguments):
    """Builds a program or a package, and returns the folder of the programs."""
    subprocess.run(["swift", "build", *arguments], check=True)
    return subprocess.check_output(["swift", "build", *arguments, "--show-bin-path"], text=True).strip()
