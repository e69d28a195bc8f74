#pragma once
/// Regular expressions as tokenizer files write them: Oniguruma's, over UTF-8.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A stretch of a text, bytes begin..end.
struct Match {
    std::size_t begin = 0, end = 0;
    bool operator==(const Match&) const = default;
};

/// How long the searches in one text may take together, in time of the thread's processor. It grows with what is searched: the patterns
/// of known tokenizers need less than two microseconds a byte, while others can take longer than anybody waits. Oniguruma counts the steps
/// that it goes back, but one such step can read all of the text again, so that only a clock bounds them.
class SearchTime {
public:
    static constexpr double kFirst = 0.5, kPerByte = 1e-5;  // seconds
    /// Before so many bytes are searched.
    void add_text(std::size_t bytes) { left_ += kPerByte * static_cast<double>(bytes); }
    void take(double seconds) { left_ -= seconds; }
    double left() const { return left_; }

private:
    double left_ = kFirst;
};

/// A compiled expression; may be used by several threads at once.
class Regex {
public:
    /// Throws ConfigError for an expression that Oniguruma does not take.
    explicit Regex(std::string_view pattern);
    /// All matches from left to right, none inside of another. Throws ConfigError when they take longer than is allowed.
    std::vector<Match> matches(std::string_view text, SearchTime& time) const;

private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

/// What a tokenizer file looks for: an expression, or a text as it stands.
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
