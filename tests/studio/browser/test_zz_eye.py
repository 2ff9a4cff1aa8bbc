from tests.studio.browser.test_translate import ASKED
def test_x(studio):
    page = studio.open(ASKED)
    page.on("pageerror", lambda e: print("ERR", e)); page.on("console", lambda m: print("CON", m.text))
    page.on("requestfailed", lambda r: print("FAIL", r.url))
    for _ in range(6):
        page.wait_for_timeout(2500)
        print(page.inner_text("#status"), page.locator(".translate").get_attribute("class"), page.url)
