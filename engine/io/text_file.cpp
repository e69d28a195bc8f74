#include "engine/io/text_file.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

struct Mark {
    std::string_view bytes;
    const char* encoding;
};
// UTF-32 first, because its little-endian mark begins with UTF-16's.
constexpr Mark kForeignMarks[] = {{std::string_view("\xFF\xFE\0\0", 4), "UTF-32"},
                                  {std::string_view("\0\0\xFE\xFF", 4), "UTF-32"},
                                  {"\xFF\xFE", "UTF-16"},
                                  {"\xFE\xFF", "UTF-16"}};

/// Turns CR LF and lone CR into LF, in place. Returns whether anything changed.
bool unify_line_ends(std::string& text) {
    if (text.find('\r') == std::string::npos) return false;
    std::size_t to = 0;
    for (std::size_t from = 0; from < text.size(); ++from) {
        if (text[from] == '\r' && from + 1 < text.size() && text[from + 1] == '\n') continue;
        text[to++] = text[from] == '\r' ? '\n' : text[from];
    }
    text.resize(to);
    return true;
}

std::size_t count_stray_bytes(std::string_view text) {
    std::size_t count = 0;
    while (const auto at = find_invalid_utf8(text)) {
        ++count;
        text.remove_prefix(*at + 1);
    }
    return count;
}

}  // namespace

TextFile read_text_file(const std::filesystem::path& path, ReadLimits limits) {
    TextFile file{read_whole_file(path, std::move(limits)), {}};
    const std::string name = escaped(path.native(), 0);
    for (const Mark& mark : kForeignMarks)
        if (std::string_view(file.text).starts_with(mark.bytes))
            throw FileError(FileFault::Unsupported, name, "byte 0", fmt::format("is {} text: save it as UTF-8", mark.encoding));
    if (const std::size_t at = file.text.find('\0'); at != std::string::npos)
        throw FileError(FileFault::Format, name, fmt::format("byte {}", at), "a NUL byte: expected a text file");
    if (file.text.starts_with(kUtf8Mark)) file.text.erase(0, kUtf8Mark.size());
    if (const auto at = find_invalid_utf8(file.text))
        file.notes.push_back(
            fmt::format("{} bytes are not UTF-8, the first at byte {}; each becomes its own symbol", count_stray_bytes(file.text), *at));
    if (unify_line_ends(file.text)) file.notes.emplace_back("line endings were changed to LF");
    return file;
}

}  // namespace attn
