#include "app/cli/complaint.hpp"

#include <cstdio>
#include <string>

#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

const char* complaining_program = "attnscope";

}  // namespace

void complain_as(const char* program) { complaining_program = program; }

void complain(std::string_view message) {
    constexpr std::size_t kLongest = 1000, kKept = 400;
    std::string line = escaped(message, 0);
    if (line.size() > kLongest) {
        std::size_t end = line.size() - kKept;
        while ((static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) ++end;  // not inside a character
        line = escaped(line, kKept) + line.substr(end);
    }
    complain_plainly(line);
}

void complain_plainly(std::string_view message) {
    std::fprintf(stderr, "%s: %.*s\n", complaining_program, static_cast<int>(message.size()), message.data());
}

}  // namespace attn::app
