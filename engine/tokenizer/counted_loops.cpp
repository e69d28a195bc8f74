#include "engine/tokenizer/counted_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

/// Copies an expression part by part and writes a callout into every part that is repeated. Syntax: Oniguruma's doc/RE.
class LoopMarker {
public:
    explicit LoopMarker(std::string_view pattern) : pattern_(pattern) {}

    std::string take() {
        while (at_ < pattern_.size()) step();
        return std::move(out_);
    }

private:
    [[noreturn]] void refuse(std::string_view construct) const {
        throw ConfigError(
            fmt::format("the regular expression \"{}\" has {}, which attnscope does not support", escaped(pattern_), construct));
    }

    std::string_view rest() const { return pattern_.substr(at_); }
    void copy(std::size_t bytes) {
        bytes = std::min(bytes, pattern_.size() - at_);
        out_ += pattern_.substr(at_, bytes);
        at_ += bytes;
    }
    /// Copies up to the first `end` from `from` on.
    void copy_through(std::string_view end, std::size_t from) {
        const std::size_t found = rest().find(end, from);
        copy(found == std::string_view::npos ? pattern_.size() : found + end.size());
    }

    void step() {
        const char c = pattern_[at_];
        if (c == '(') return open_group();
        if (c == ')') return close_group();
        if (c == '*' || c == '+') return repeat(1);
        if (c == '{')
            if (const std::size_t bytes = interval_bytes()) return repeat(bytes);
        if (c == '?' && part_) return optional();
        if (c == '|') {
            copy(1);
            part_.reset();
            return;
        }
        part_ = out_.size();
        if (c == '\\') return copy_escape();
        if (c == '[') return copy_class();
        copy(first_utf8(rest()).bytes);
    }

    /// The size of {n}, {n,}, {,n} or {n,m} here; 0 if the brace is an ordinary character.
    std::size_t interval_bytes() const {
        if (!part_) return 0;
        const std::string_view text = rest();
        std::size_t digits = 0, commas = 0, i = 1;
        for (; i < text.size() && (is_ascii_digit(text[i]) || text[i] == ','); ++i) (text[i] == ',' ? commas : digits) += 1;
        return digits > 0 && commas <= 1 && i < text.size() && text[i] == '}' ? i + 1 : 0;
    }

    /// A quantifier of so many bytes: each repetition of the part before it is a pass.
    void repeat(std::size_t bytes) {
        if (part_) {
            out_.insert(*part_, fmt::format("(?:(*{})", kPassCallout));
            out_ += ')';
        }
        const bool interval = bytes > 1;
        copy(bytes);
        copy_manner(interval);
    }
    void optional() {
        copy(1);
        copy_manner(false);
    }
    /// "?": as few as possible; "+": without going back, but after an interval another loop.
    void copy_manner(bool interval) {
        if (rest().starts_with('?') || (rest().starts_with('+') && !interval)) copy(1);
    }

    void open_group() {
        const std::string_view text = rest();
        if (text.starts_with("(?#")) return copy_through(")", 0);
        if (text.starts_with("(*") || text.starts_with("(?{")) refuse("callouts");
        if (text.starts_with("(?~")) refuse("absent operators (?~ )");
        if (text.starts_with("(?(")) refuse("conditions (?( ) )");
        groups_.push_back(out_.size());
        part_.reset();
        if (!text.starts_with("(?") || text.size() < 3) return copy(1);
        const char kind = text[2];
        if (kind == '<' && text.size() > 3 && (text[3] == '=' || text[3] == '!')) return copy(4);
        if (kind == '<') return copy_through(">", 0);
        if (kind == '\'') return copy_through("'", 3);
        if (std::isalpha(static_cast<unsigned char>(kind)) != 0 || kind == '-') return open_options();
        copy(3);  // (?: (?= (?! (?>
    }

    /// (?i: ) or (?i), which holds up to the end of the group around it.
    void open_options() {
        const std::string_view text = rest();
        const std::size_t end = text.find_first_of(":)", 2);
        const std::string_view options = text.substr(0, end);
        if (options.substr(0, options.find('-')).find('x') != std::string_view::npos) refuse("free spacing (?x)");
        if (end != std::string_view::npos && text[end] == ')') groups_.pop_back();
        copy(end == std::string_view::npos ? text.size() : end + 1);
    }

    void close_group() {
        if (groups_.empty()) part_.reset();
        else {
            part_ = groups_.back();
            groups_.pop_back();
        }
        copy(1);
    }

    void copy_escape() {
        const std::string_view text = rest();
        const char kind = text.size() > 1 ? text[1] : '\0';
        const bool braced = text.size() > 2 && text[2] == '{';
        if (braced && (kind == 'p' || kind == 'P' || kind == 'x' || kind == 'o')) return copy_through("}", 0);
        if (kind == 'x') return copy(2 + digits_from(2, 2, "0123456789abcdefABCDEF"));
        if (kind == 'u') return copy(6);
        if (kind == '0') return copy(2 + digits_from(2, 2, "01234567"));
        if (kind == 'c' || kind == 'C' || kind == 'M') refuse("control characters \\c, \\C- and \\M-");
        if (kind == 'g') refuse("calls of groups \\g");
        if (kind == 'X') return write_cluster();
        if (kind == 'k' || is_ascii_digit(kind)) return compare_group(kind);
        copy(text.size() > 1 ? 1 + first_utf8(text.substr(1)).bytes : 1);
    }
    std::size_t digits_from(std::size_t begin, std::size_t most, std::string_view digits) const {
        std::size_t count = 0;
        while (count < most && begin + count < rest().size() && digits.find(rest()[begin + count]) != std::string_view::npos) ++count;
        return count;
    }

    /// \X by its definition, whose loop can be counted.
    void write_cluster() {
        out_ += fmt::format(R"((?>\O(?:(*{})\Y\O)*))", kPassCallout);
        at_ += 2;
    }

    void compare_group(char kind) {
        const std::string_view text = rest();
        if (kind != 'k' && text.size() > 2 && is_ascii_digit(text[2])) refuse("group numbers of two digits");
        out_ += fmt::format("(?:(*{})", kComparisonCallout);
        if (kind == 'k') copy_through(text.size() > 2 && text[2] == '\'' ? "'" : ">", 3);
        else copy(2);
        out_ += ')';
    }

    /// A class, with the classes in it. A bracket that closes at once is an ordinary character.
    void copy_class() {
        copy(1);
        if (rest().starts_with('^')) copy(1);
        if (rest().starts_with(']')) copy(1);
        while (at_ < pattern_.size() && pattern_[at_] != ']') {
            if (pattern_[at_] == '\\') copy(2);
            else if (is_named_class()) copy_through("]", 2);
            else if (pattern_[at_] == '[') copy_class();
            else copy(1);
        }
        copy(1);
    }

    /// [:alpha:]
    bool is_named_class() const {
        const std::size_t end = rest().find(']', 2);
        return rest().starts_with("[:") && end != std::string_view::npos && rest()[end - 1] == ':' && end > 2;
    }

    std::string_view pattern_;
    std::size_t at_ = 0;
    std::string out_;
    std::optional<std::size_t> part_;  ///< where the part begins in out_ that a quantifier here would repeat
    std::vector<std::size_t> groups_;  ///< where the open groups begin in out_
};

}  // namespace

std::string with_counted_loops(std::string_view pattern) { return LoopMarker(pattern).take(); }

}  // namespace attn
