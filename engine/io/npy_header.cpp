#include "engine/io/npy_header.hpp"

#include <fmt/format.h>

#include <charconv>

namespace attn {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } with its keys in any order.
class HeaderParser {
public:
    HeaderParser(std::string_view text, std::string_view source, std::uint64_t first_byte)
        : text_(text), source_(source), first_byte_(first_byte) {}

    NpyHeader parse() {
        expect('{', "expected a dictionary");
        while (peek() != '}') {
            read_entry();
            if (peek() != ',') break;
            ++at_;
        }
        expect('}', "the dictionary does not end with }");
        if (peek() != '\0' || at_ != text_.size()) fail(FileFault::Format, "unexpected text after the dictionary");
        for (const auto& [seen, name] :
             {std::pair(seen_descr_, "descr"), std::pair(seen_order_, "fortran_order"), std::pair(seen_shape_, "shape")})
            if (!seen) fail(FileFault::Format, fmt::format("the dictionary has no '{}'", name));
        return std::move(header_);
    }

private:
    [[noreturn]] void fail(FileFault fault, std::string_view problem) const {
        throw FileError(fault, source_, fmt::format("byte {}", first_byte_ + at_), problem);
    }
    [[noreturn]] void refuse_elements(const std::string& why) const {
        throw UnreadableElements(source_, fmt::format("byte {}", first_byte_ + at_), why);
    }
    /// The next character other than white space; NUL at the end.
    char peek() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    void expect(char wanted, std::string_view problem) {
        if (peek() != wanted) fail(FileFault::Format, problem);
        ++at_;
    }
    std::string_view read_string(std::string_view expected) {
        const char quote = peek();
        if (quote != '\'' && quote != '"') fail(FileFault::Format, expected);
        const std::size_t begin = ++at_;
        while (at_ < text_.size() && text_[at_] != quote) {
            if (text_[at_] == '\\' || text_[at_] == '\n') fail(FileFault::Format, "an escape or a line break in a string");
            ++at_;
        }
        if (at_ == text_.size()) fail(FileFault::Format, "a string does not end");
        return text_.substr(begin, at_++ - begin);
    }
    void read_entry() {
        const std::string_view key = read_string("expected a key in quotes");
        bool* seen = key == "descr" ? &seen_descr_ : key == "fortran_order" ? &seen_order_ : key == "shape" ? &seen_shape_ : nullptr;
        if (seen == nullptr) fail(FileFault::Format, fmt::format("'{}' is not a key of a .npy header", escaped(key)));
        if (*seen) fail(FileFault::Duplicate, fmt::format("'{}' is given twice", key));
        *seen = true;
        expect(':', "expected : after a key");
        if (key == "descr") read_descr();
        else if (key == "shape") read_shape();
        else header_.fortran_order = read_bool();
    }
    bool read_bool() {
        peek();
        for (const auto& [word, value] : {std::pair(std::string_view("True"), true), std::pair(std::string_view("False"), false)}) {
            if (!text_.substr(at_).starts_with(word)) continue;
            at_ += word.size();
            return value;
        }
        fail(FileFault::Format, "expected True or False");
    }
    void read_descr();
    void read_shape();
    std::int64_t read_size();

    std::string_view text_;
    std::string_view source_;
    std::uint64_t first_byte_;
    std::size_t at_ = 0;
    NpyHeader header_;
    bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

void HeaderParser::read_descr() {
    if (peek() == '[') refuse_elements("a structured array cannot be read");
    const std::string_view descr = read_string("expected the element type in quotes");
    std::string_view type = descr;
    const char order = type.empty() ? '\0' : type.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') type.remove_prefix(1);
    struct Known {
        std::string_view type;
        DType dtype;
    };
    static constexpr Known kKnown[] = {{"b1", DType::Bool}, {"u1", DType::U8},  {"i1", DType::I8},  {"u2", DType::U16},
                                       {"i2", DType::I16},  {"u4", DType::U32}, {"i4", DType::I32}, {"u8", DType::U64},
                                       {"i8", DType::I64},  {"f2", DType::F16}, {"f4", DType::F32}, {"f8", DType::F64}};
    for (const Known& known : kKnown) {
        if (known.type != type) continue;
        if (order == '|' && dtype_size(known.dtype) > 1) break;  // '|', "no byte order", is valid for single bytes only
        header_.dtype = known.dtype;
        header_.big_endian = order == '>';
        return;
    }
    refuse_elements(fmt::format("element type '{}' cannot be read", escaped(descr)));
}

std::int64_t HeaderParser::read_size() {
    const char first = peek();
    if (first == '-') fail(FileFault::Range, "a negative size");
    if (text_.substr(at_).starts_with("True") || text_.substr(at_).starts_with("False"))
        fail(FileFault::Range, "a size that is True or False");
    if (!is_digit(first)) fail(FileFault::Format, "expected a size");
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
    if (error != std::errc()) fail(FileFault::Range, "a size beyond 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (peek() == '.') fail(FileFault::Range, "a size with a fraction");
    if (peek() == 'L') ++at_;  // suffix of long integers in Python 2
    return size;
}

void HeaderParser::read_shape() {
    if (peek() == '[' || is_digit(peek())) fail(FileFault::Range, "the shape is not a tuple");
    expect('(', "expected a tuple of sizes");
    bool comma = true;
    while (peek() != ')') {
        if (!comma) fail(FileFault::Format, "expected , or ) in the shape");
        if (header_.shape.size() == kMaxArrayRank) fail(FileFault::Limit, fmt::format("more than {} axes", kMaxArrayRank));
        header_.shape.push_back(read_size());
        comma = peek() == ',';
        if (comma) ++at_;
    }
    if (header_.shape.size() == 1 && !comma) fail(FileFault::Range, "(n) is not a tuple: one axis is written (n,)");
    ++at_;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::string_view source, std::uint64_t first_byte) {
    return HeaderParser(text, source, first_byte).parse();
}

}  // namespace attn
