#include "engine/snippet/python_text.hpp"

#include <fmt/format.h>

#include "engine/io/number_text.hpp"
#include "engine/io/utf8.hpp"

namespace attn::snippet {
namespace {

constexpr std::size_t kLineWidth = 118;

/// The elements of one list, with line wrapping.
class Row {
public:
    explicit Row(std::size_t indent) : indent_(indent), width_(indent) {}
    void add(std::string_view element) {
        if (!text_.empty()) {
            const bool wrap = width_ + element.size() + 2 > kLineWidth;
            text_ += wrap ? ",\n" + std::string(indent_, ' ') : ", ";
            width_ = wrap ? indent_ : width_ + 2;
        }
        text_ += element;
        width_ += element.size();
    }
    std::string text() && { return std::move(text_); }

private:
    std::size_t indent_, width_;
    std::string text_;
};

/// write(i) returns the text of element i; `at` is the next element.
template <class Write>
std::string lists(const std::vector<std::int64_t>& shape, std::size_t axis, std::size_t indent, std::size_t& at, const Write& write) {
    std::string text = "[";
    if (axis + 1 == shape.size()) {
        Row row(indent + 1);
        for (std::int64_t i = 0; i < shape[axis]; ++i) row.add(write(at++));
        return text + std::move(row).text() + "]";
    }
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) text += ",\n" + std::string(indent + 1, ' ');
        text += lists(shape, axis + 1, indent + 1, at, write);
    }
    return text + "]";
}

}  // namespace

std::string python_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const Utf8Unit unit = first_utf8(text);
        text.remove_prefix(unit.bytes);
        const auto code = static_cast<std::uint32_t>(unit.code_point);
        if (!unit.valid) out += fmt::format("\\udc{:02x}", code);
        else if (code == '"' || code == '\\') (out += '\\') += static_cast<char>(code);
        else if (code >= 0x20 && code < 0x7F) out += static_cast<char>(code);
        else if (code < 0x10000) out += fmt::format("\\u{:04x}", code);
        else out += fmt::format("\\U{:08x}", code);
    }
    return out + '"';
}

std::string nested_list(std::span<const float> values, const std::vector<std::int64_t>& shape, std::size_t indent,
                        std::string_view prefix) {
    const std::string nan = std::string(prefix) + "nan", infinity = std::string(prefix) + "inf", minus = "-" + infinity;
    const OddNumberNames names{nan.c_str(), infinity.c_str(), minus.c_str()};
    std::size_t at = 0;
    return lists(shape, 0, indent, at, [&](std::size_t i) { return number_text(values[i], names); });
}

std::string nested_list(std::span<const std::int64_t> values, const std::vector<std::int64_t>& shape, std::size_t indent) {
    std::size_t at = 0;
    return lists(shape, 0, indent, at, [&](std::size_t i) { return std::to_string(values[i]); });
}

std::string flat_list(const std::vector<std::string>& values, std::size_t indent) {
    Row row(indent + 1);
    for (const std::string& value : values) row.add(python_string(value));
    return "[" + std::move(row).text() + "]";
}

std::string nested_list(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
    std::string text = "[";
    for (const std::vector<std::string>& row : rows)
        text += (text.size() > 1 ? ",\n" + std::string(indent + 1, ' ') : "") + flat_list(row, indent + 1);
    return text + "]";
}

}  // namespace attn::snippet
