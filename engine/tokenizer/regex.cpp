#include "engine/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// A search cannot be interrupted, only limited in backtracking steps. It starts with few steps and is repeated with kMoreSteps times as
/// many after each failure, as far as the remaining time allows.
constexpr unsigned long kFirstSteps = 64, kMoreSteps = 8;
constexpr std::size_t kLongestPattern = 16384;

std::string error_text(int code, OnigErrorInfo* info = nullptr) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
    const int length = info != nullptr ? onig_error_code_to_str(text.data(), code, info) : onig_error_code_to_str(text.data(), code);
    return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

void initialise() {
    static std::once_flag done;
    std::call_once(done, [] {
        OnigEncoding encoding = ONIG_ENCODING_UTF8;
        onig_initialize(&encoding, 1);
    });
}

bool is_over_limit(int code) { return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER; }

/// CPU time of this thread, so that other programs do not count.
double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

const OnigUChar* bytes(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

}  // namespace

struct Regex::Compiled {
    explicit Compiled(std::string_view pattern) : name(fmt::format("\"{}\"", escaped(pattern))) {
        if (pattern.size() > kLongestPattern)
            throw ConfigError(
                fmt::format("a regular expression of {} bytes is too long; at most {} are accepted", pattern.size(), kLongestPattern));
        initialise();
        OnigErrorInfo info{};
        const int code = onig_new(&handle, bytes(pattern), bytes(pattern) + pattern.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                                  ONIG_SYNTAX_DEFAULT, &info);
        if (code == ONIGERR_MEMORY) throw std::bad_alloc();
        if (code != ONIG_NORMAL)
            throw ConfigError(fmt::format("the regular expression {} cannot be used: {}", name, error_text(code, &info)));
    }
    ~Compiled() { onig_free(handle); }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    regex_t* handle = nullptr;
    std::string name;  ///< for messages: the expression, perhaps shortened
};

Regex::Regex(std::string_view pattern) : compiled_(std::make_shared<const Compiled>(pattern)) {}

namespace {

/// Consecutive searches in a text, all within the time allowed.
class Searches {
public:
    /// `name` is for messages and must outlive this.
    Searches(regex_t* expression, const std::string& name, std::string_view text, SearchTime& time)
        : expression_(expression), name_(name), begin_(bytes(text)), end_(begin_ + text.size()), time_(time),
          limits_(onig_new_match_param()), region_(onig_region_new()) {
        if (limits_ == nullptr || region_ == nullptr) throw std::bad_alloc();
        onig_initialize_match_param(limits_.get());
    }

    /// The first match from `at` on, if any.
    std::optional<Match> next(std::size_t at) {
        for (unsigned long steps = kFirstSteps;;) {
            onig_set_retry_limit_in_match_of_match_param(limits_.get(), steps);
            onig_set_retry_limit_in_search_of_match_param(limits_.get(), steps);
            const int place =
                onig_search_with_param(expression_, begin_, end_, begin_ + at, end_, region_.get(), ONIG_OPTION_NONE, limits_.get());
            const double taken = seconds_since_last();
            time_.take(taken);
            if (place == ONIGERR_MEMORY) throw std::bad_alloc();
            if (time_.left() < (is_over_limit(place) ? taken : 0))
                throw ConfigError(
                    fmt::format("the tokenizer's regular expressions take too long on this text and were stopped at {}", name_));
            if (place >= 0) return Match{static_cast<std::size_t>(region_->beg[0]), static_cast<std::size_t>(region_->end[0])};
            if (place == ONIG_MISMATCH) return std::nullopt;
            if (!is_over_limit(place))
                throw ConfigError(fmt::format("the tokenizer's regular expression {} fails on this text: {}", name_, error_text(place)));
            const double more = time_.left() / std::max(taken, 1e-6);
            steps = static_cast<unsigned long>(static_cast<double>(steps) * std::min<double>(kMoreSteps, more));
        }
    }

private:
    struct Free {
        void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
        void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
    };

    double seconds_since_last() {
        const double before = std::exchange(last_, processor_seconds());
        return last_ - before;
    }

    regex_t* expression_;
    const std::string& name_;
    const OnigUChar *begin_, *end_;
    SearchTime& time_;
    double last_ = processor_seconds();
    std::unique_ptr<OnigMatchParam, Free> limits_;
    std::unique_ptr<OnigRegion, Free> region_;
};

}  // namespace

std::vector<Match> Regex::matches(std::string_view text, SearchTime& time) const {
    std::vector<Match> out;
    if (text.empty()) return out;
    time.add_text(text.size());
    Searches searches(compiled_->handle, compiled_->name, text, time);
    for (std::size_t at = 0; at <= text.size();) {
        const std::optional<Match> match = searches.next(at);
        if (!match) break;
        if (match->begin == match->end && !out.empty() && out.back().end == match->end) {
            at += at < text.size() ? first_utf8(text.substr(at)).bytes : 1;
            continue;
        }
        at = match->end;
        out.push_back(*match);
    }
    return out;
}

TextPattern TextPattern::regex(std::string_view expression) {
    TextPattern out;
    out.regex_ = std::make_shared<const Regex>(expression);
    return out;
}

TextPattern TextPattern::literal(std::string_view text) {
    TextPattern out;
    out.literal_ = text;
    return out;
}

std::vector<Match> TextPattern::matches(std::string_view text, SearchTime& time) const {
    if (regex_) return regex_->matches(text, time);
    std::vector<Match> out;
    if (literal_.empty()) return out;
    for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
        out.push_back({at, at + literal_.size()});
    return out;
}

}  // namespace attn
