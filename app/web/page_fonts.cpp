/// In a browser: fonts for other scripts come from the page's own folder, each when it is needed for the first time.

#include <emscripten.h>
#include <emscripten/threading.h>

#include <cstdlib>
#include <utility>

#include "app/platform/system_fonts.hpp"
#include "app/web/font_list.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
const fs::path kFonts = "/fonts";

// clang-format off
// Of a worker, which may wait for it; null if it is not to be had.
EM_JS(char*, js_fetched, (const char* address, int* bytes), {
    const request = new XMLHttpRequest();
    request.open('GET', UTF8ToString(address), false);
    request.responseType = 'arraybuffer';
    try { request.send(); } catch (offline) { return 0; }
    if (request.status !== 200) return 0;
    const answer = new Uint8Array(request.response), place = _malloc(answer.length + 1);
    HEAPU8.set(answer, place);
    HEAPU8[place + answer.length] = 0;
    HEAP32[bytes >> 2] = answer.length;
    return place;
});
// clang-format on

std::string fetched(const std::string& file) {
    int bytes = 0;
    char* const answer = js_fetched(("fonts/" + file).c_str(), &bytes);
    if (answer == nullptr) return "";
    std::string copy(answer, static_cast<std::size_t>(bytes));
    std::free(answer);
    return copy;
}

/// False if it cannot be fetched now, as without a network.
bool is_here(const fs::path& file) {
    if (fs::exists(file)) return true;
    const std::string bytes = fetched(file.filename().string());
    if (bytes.empty()) return false;
    try {
        make_folder(kFonts, 1);
        AtomicFile here(file);
        here.write(bytes);
        here.commit();
        return true;
    } catch (const FileError&) {
        return false;  // the page's memory is full
    }
}

}  // namespace

std::vector<SystemFont> fonts_with(LetterSet letters) {
    constexpr std::size_t kMostFonts = 4;  // as natively
    std::vector<SystemFont> fonts;
    if (letters.empty() || emscripten_is_main_runtime_thread()) return fonts;
    const std::string list = fetched("list.txt");
    while (!letters.empty() && fonts.size() < kMostFonts) {
        SystemFont next = best_listed_font(list, letters);
        if (next.letters.empty()) break;
        next.file = kFonts / next.file;
        std::erase_if(letters, [&](char32_t letter) { return next.letters.find(letter) != LetterSet::npos; });
        if (is_here(next.file)) fonts.push_back(std::move(next));
    }
    return fonts;
}

}  // namespace attn::app
