#pragma once
/// Oniguruma regular expressions over UTF-8, as tokenizer files use them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Bytes [begin, end) of a text.
struct Match {
    std::size_t begin = 0, end = 0;
    bool operator==(const Match&) const = default;
};

/// The work left for all searches in one text, in passes through loops and steps back. It is counted, not timed, so that an expression is
/// given up at the same place on every machine. It grows with the number of bytes: patterns of known tokenizers need about two units per
/// byte, of some ten nanoseconds each, but others could run practically forever.
class SearchWork {
public:
    static constexpr std::uint64_t kFirst = 40'000'000, kPerByte = 1000;
    /// Call before searching so many bytes.
    void add_text(std::size_t bytes) { left_ += kPerByte * bytes; }
    void take(std::uint64_t units) { left_ -= std::min(units, left_); }
    std::uint64_t left() const { return left_; }

private:
    std::uint64_t left_ = kFirst;
};

/// A compiled expression. Thread-safe.
class Regex {
public:
    /// Throws ConfigError if Oniguruma rejects the expression, or if its work cannot be counted (counted_loops.hpp).
    explicit Regex(std::string_view pattern);
    /// All non-overlapping matches from left to right; an empty one counts unless another one ends there. None in an empty text.
    /// Throws ConfigError if the work is too much.
    std::vector<Match> matches(std::string_view text, SearchWork& work) const;

private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

/// A pattern in a tokenizer file: an expression or a literal string.
class TextPattern {
public:
    static TextPattern regex(std::string_view expression);
    static TextPattern literal(std::string_view text);
    std::vector<Match> matches(std::string_view text, SearchWork& work) const;

private:
    std::shared_ptr<const Regex> regex_;
    std::string literal_;
};

}  // namespace attn
