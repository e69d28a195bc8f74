#include "engine/io/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view kSpace = " \t\r\n", kByte = "byte ";

/// Walks through a text that may be malformed: it never goes beyond the end, and stops where it finds no JSON.
class JsonWalk {
public:
    explicit JsonWalk(std::string_view text) : text_(text) {}

    /// Where the value that the pointer names begins, or its field's name.
    std::size_t find(std::string_view pointer) {
        skip_space();
        std::size_t found = at_;
        while (!pointer.empty()) {
            pointer.remove_prefix(1);  // its slash
            const std::size_t end = std::min(pointer.find('/'), pointer.size());
            const std::optional<std::size_t> next = enter(name_of(pointer.substr(0, end)));
            if (!next) break;
            found = *next;
            pointer.remove_prefix(end);
        }
        return found;
    }

private:
    /// RFC 6901.
    static std::string name_of(std::string_view part) {
        std::string name;
        for (std::size_t i = 0; i < part.size(); ++i) {
            const bool escape = part[i] == '~' && i + 1 < part.size();
            if (escape) ++i;
            name += !escape ? part[i] : part[i] == '1' ? '/' : '~';
        }
        return name;
    }

    char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

    /// The letters between the quotes, as written.
    std::string_view take_string() {
        const std::size_t start = at_ + 1;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
            if (text_[at_] == '\\') ++at_;
        at_ = std::min(at_, text_.size());
        const std::string_view taken = text_.substr(std::min(start, at_), at_ - std::min(start, at_));
        if (at_ < text_.size()) ++at_;
        return taken;
    }

    void skip_value() {
        int depth = 0;
        do {
            const char c = now();
            if (c == '"') {
                take_string();
                continue;
            }
            if (c == '{' || c == '[') ++depth;
            if (c == '}' || c == ']') --depth;
            if (depth < 0 || (depth == 0 && c == ',')) return;
            ++at_;
        } while (at_ < text_.size() && (depth > 0 || (now() != ',' && now() != '}' && now() != ']')));
    }

    /// Goes to the value of this name or number in the object or list at the current place; none if there is none.
    std::optional<std::size_t> enter(const std::string& name) {
        const bool object = now() == '{';
        if (!object && now() != '[') return std::nullopt;
        ++at_;
        for (std::size_t i = 0; at_ < text_.size(); ++i) {
            skip_space();
            if (now() == '}' || now() == ']') return std::nullopt;
            const std::size_t start = at_;
            bool here = !object && std::to_string(i) == name;
            if (object) {
                if (now() != '"') return std::nullopt;
                here = take_string() == name;
                skip_space();
                if (now() != ':') return std::nullopt;
                ++at_;
                skip_space();
            }
            if (here) return start;
            skip_value();
            skip_space();
            if (now() != ',') return std::nullopt;
            ++at_;
        }
        return std::nullopt;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::optional<std::size_t> offset_of(std::string_view json, std::string_view place) {
    if (place.starts_with('/')) return JsonWalk(json).find(place);
    if (!place.starts_with(kByte)) return std::nullopt;
    std::size_t byte = 0;
    const char* const end = place.data() + place.size();
    const auto [rest, error] = std::from_chars(place.data() + kByte.size(), end, byte);
    return error == std::errc() && rest == end ? std::optional(std::min(std::max<std::size_t>(byte, 1) - 1, json.size())) : std::nullopt;
}

}  // namespace

std::string line_and_column(std::string_view json, std::string_view place) {
    const std::optional<std::size_t> offset = offset_of(json, place);
    if (!offset) return "";
    const std::string_view before = json.substr(0, *offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    std::string_view in_line = before.substr(before.rfind('\n') + 1);
    std::size_t column = 1;
    for (; !in_line.empty(); ++column) in_line.remove_prefix(first_utf8(in_line).bytes);
    return fmt::format("line {}, column {}", line, column);
}

FileError with_line(const FileError& error, std::string_view json, std::string_view source) {
    std::string_view rest = error.what();
    const std::string start = fmt::format("{}, ", source);
    if (!rest.starts_with(start)) return error;
    rest.remove_prefix(start.size());
    const std::size_t end = rest.find(": ");
    const std::string_view place = rest.substr(0, end);
    const std::string where = line_and_column(json, place);
    if (where.empty() || end == std::string_view::npos) return error;
    return {error.fault(), source, place.starts_with('/') ? fmt::format("{} ({})", where, place) : where, rest.substr(end + 2)};
}

}  // namespace attn
