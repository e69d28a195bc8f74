#pragma once
/// Oniguruma regular expressions over UTF-8, as tokenizer files use them.

#include <cstddef>
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

/// CPU time left for all searches in one text. The budget grows with the number of bytes: patterns of known tokenizers need less than 2 µs
/// per byte, but others could run practically forever. Oniguruma's own limit counts backtracking steps, and a single step may scan the
/// whole text again, so only a clock is safe.
class SearchTime {
public:
    static constexpr double kFirst = 0.5, kPerByte = 1e-5;  // seconds
    /// Call before searching so many bytes.
    void add_text(std::size_t bytes) { left_ += kPerByte * static_cast<double>(bytes); }
    void take(double seconds) { left_ -= seconds; }
    double left() const { return left_; }

private:
    double left_ = kFirst;
};

/// A compiled expression. Thread-safe.
class Regex {
public:
    /// Throws ConfigError if Oniguruma rejects the expression.
    explicit Regex(std::string_view pattern);
    /// All non-overlapping matches from left to right; an empty one counts unless another one ends there. None in an empty text.
    /// Throws ConfigError if the time runs out.
    std::vector<Match> matches(std::string_view text, SearchTime& time) const;

private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

/// A pattern in a tokenizer file: an expression or a literal string.
class TextPattern {
public:
    static TextPattern regex(std::string_view expression);
    static TextPattern literal(std::string_view text);
    std::vector<Match> matches(std::string_view text, SearchTime& time) const;

private:
    std::shared_ptr<const Regex> regex_;
    std::string literal_;
};

}  // namespace attn
