#include "app/web/browser.hpp"

#include <emscripten.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace attn::app::browser {
namespace {

using Then = std::function<void(std::string_view)>;

// clang-format off
EM_JS(bool, js_is_here, (), { return typeof document === 'object'; });
EM_JS(int, js_width, (), { return innerWidth; });
EM_JS(int, js_height, (), { return innerHeight; });
EM_JS(void, js_set_cursor, (const char* name), { Module.canvas.style.cursor = UTF8ToString(name); });
EM_JS(void, js_copy, (const char* text), { page.copy(UTF8ToString(text)); });
EM_JS(char*, js_pasted, (), { return stringToNewUTF8(page.pasted); });
EM_JS(void, js_copy_link, (const char* text, void* then), { page.copyLink(UTF8ToString(text), then); });
EM_JS(void, js_choose, (bool folder, const char* endings, void* then), { page.choose(folder, UTF8ToString(endings), then); });
EM_JS(void, js_on_drop, (void* taken), { page.taken = taken; });
EM_JS(void, js_download, (const char* path), { page.download(UTF8ToString(path)); });
EM_JS(void, js_end_with, (const char* why), { page.say(UTF8ToString(why)); });
EM_JS(void, js_type, (bool wanted), { touch.type(wanted); });
EM_JS(void, js_show, (), { page.show(); });
// clang-format on

/// Owned by page.js, which calls attn_call() with it and at last, unless it lasts as long as the page, attn_forget().
void* kept(Then then) { return std::make_unique<Then>(std::move(then)).release(); }

}  // namespace

extern "C" EMSCRIPTEN_KEEPALIVE void attn_call(void* then, const char* answer) { (*static_cast<Then*>(then))(answer); }
extern "C" EMSCRIPTEN_KEEPALIVE void attn_forget(void* then) { delete static_cast<Then*>(then); }

bool is_here() { return js_is_here(); }
Size page_size() { return {js_width(), js_height()}; }
void set_cursor(const char* css_name) { js_set_cursor(css_name); }
void copy(const char* text) { js_copy(text); }
void copy_link(const std::string& document_json, Then then) { js_copy_link(document_json.c_str(), kept(std::move(then))); }
void choose(bool folder, const std::string& endings, Then then) { js_choose(folder, endings.c_str(), kept(std::move(then))); }
void on_drop(Then taken) { js_on_drop(kept(std::move(taken))); }
void download(const std::string& path) { js_download(path.c_str()); }
void end_with(const std::string& why) { js_end_with(why.c_str()); }
void type(bool wanted) { js_type(wanted); }
void show() { js_show(); }

std::string pasted() {
    char* text = js_pasted();
    std::string copy = text;
    std::free(text);
    return copy;
}

}  // namespace attn::app::browser
