#include "engine/io/json_text_check.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"

namespace attn {
namespace {

FileError refusal(FileFault fault, std::string_view source, std::uint64_t at, std::string_view problem) {
    return {fault, source, fmt::format("byte {}", at), problem};
}

}  // namespace

void JsonTextCheck::add(std::string_view piece) {
    // The parser skips a byte order mark and stops at a NUL byte; either could hide content.
    if (at_ == first_byte_ && piece.starts_with("\xEF\xBB\xBF"))
        throw refusal(FileFault::Format, source_, at_, "a byte order mark before the JSON text");
    if (const std::size_t nul = piece.find('\0'); nul != std::string_view::npos)
        throw refusal(FileFault::Format, source_, at_ + nul, "a NUL byte in the JSON text");
    for (const char c : piece) {
        if (in_string_) {
            if (++string_bytes_ > limits_.string_bytes)
                throw refusal(FileFault::Limit, source_, at_, fmt::format("a string of more than {} bytes", limits_.string_bytes));
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
        } else if (c == '"') {
            in_string_ = true;
            string_bytes_ = 0;
        } else if (c == '[' || c == '{') {
            if (++depth_ > kMaxJsonDepth)
                throw refusal(FileFault::Limit, source_, at_, fmt::format("more than {} nested brackets", kMaxJsonDepth));
            count_value();
        } else if (c == ',') {
            count_value();
        } else if (c == ']' || c == '}') {
            --depth_;
        }
        ++at_;
    }
}

/// Every value but the outermost follows an opening bracket or a comma.
void JsonTextCheck::count_value() {
    if (++values_ > limits_.values) throw refusal(FileFault::Limit, source_, at_, fmt::format("more than {} values", limits_.values));
}

}  // namespace attn
