"""Looks at the documentation in .docs as a reader does: check-site.py SITE PICTURES."""

import functools
import hashlib
import http.server
import json
import pathlib
import shutil
import sys
import threading

from playwright.sync_api import TimeoutError

import browser

# A window of this size shows the list of pages beside a page.
SIZE = {"width": 1280, "height": 900}
NOTHING = "shows nothing"


def paths(site):
    """The pages of the site, each with the pages that it refers to."""
    data = site / "data"
    found = {}
    for file in data.rglob("*.json"):
        page = json.loads(file.read_text())
        urls = {one.get("url", "") for one in page.get("references", {}).values()}
        own = "/" + str(file.relative_to(data).with_suffix("")).lower()
        found[own] = {url.partition("#")[0].lower() for url in urls if url.startswith("/")}
    return found


def lost(site, pages):
    """Links that lead to no page, and pages to which no link leads."""
    landing = "/documentation"
    for page, links in pages.items():
        if not (site / page[1:] / "index.html").exists():
            yield f"{page} has no file"
        for link in links - pages.keys():
            yield f"{page} leads to {link}, which is no page"
    reached, open_pages = {landing}, [landing]
    while open_pages:
        new = (pages.get(open_pages.pop(), set()) & pages.keys()) - reached
        reached |= new
        open_pages += new
    for page in pages.keys() - reached:
        yield f"no link leads to {page}"


def look(page, address, pictures, path, blank):
    """What is wrong with a page in the browser."""
    page.goto(address + path + "/")
    try:
        page.wait_for_selector("main h1")
        page.wait_for_selector(".navigator .leaf-link")
        # Pictures further down are loaded when they are asked for.
        page.wait_for_function('''[...document.images].every((image) => {
          image.loading = "eager"
          return image.complete
        })''')
    except TimeoutError:
        yield f"{path} {NOTHING}"
        return
    shot = page.screenshot(path=pictures / (path[1:].replace("/", "-") + ".png"))
    digest = hashlib.sha256(shot).digest()
    if digest in blank:
        yield f"{path} looks like {blank[digest]}"
    blank[digest] = path
    if len(page.locator("main .doc-content").inner_text().split()) < 5:
        yield f"{path} says nothing"
    if page.locator('#all-products[href$="/documentation/"]:visible').count() != 1:
        yield f"{path} has no link to the landing page"
    cut = page.evaluate("""() => [...document.querySelectorAll('[data-syntax=swift] .container-general')]
      .filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => one.innerText.split('\\n').sort((a, b) => b.length - a.length)[0])""")
    for line in cut:
        yield f"{path} cuts an example: {line}"


def serve(site):
    """The address at which the site is served until the program ends."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # A browser that leaves a page takes no more of it.

    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def main():
    site, pictures = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir()
    pages = paths(site)
    problems = list(lost(site, pages))
    # Pages of members look like those of other members; articles, modules and types are looked at.
    shown = sorted(page for page in pages if page.count("/") <= 3)
    address = serve(site)
    with browser.chromium() as chromium:
        # What a page looks like whose content does not arrive.
        page = chromium.new_page(viewport=SIZE)
        page.route("**/data/**", lambda route: route.fulfill(status=404))
        page.goto(address + "/documentation/")
        page.wait_for_timeout(2000)
        missing = page.screenshot(path=pictures / "missing.png")
        page.close()
        blank = {hashlib.sha256(missing).digest(): "a page without content"}

        page = chromium.new_page(viewport=SIZE)
        page.set_default_timeout(60_000)
        trouble = browser.watch(page, address.split("/")[2])
        page.goto(address + "/")
        page.wait_for_url(address + "/documentation/")
        for path in shown:
            problems += look(page, address, pictures, path, blank)
            problems += [f"{path}: {one}" for one in trouble]
            trouble.clear()
            if sum(problem.endswith(NOTHING) for problem in problems) == 3:
                break
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{len(pages)} pages, of which {len(shown)} were looked at: {len(problems)} problems")
    sys.exit(1 if problems or not shown else 0)


main()
