#include "app/cli/token_options.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/views/knock_out_question.hpp"
#include "app/session/facets/token_search.hpp"
#include "app/session/values/next_words.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// The tokens that are named for one place of a text.
class NamedTokens {
public:
    NamedTokens(const Snapshot& snapshot, const AskedPlace& place) : snapshot_(snapshot), place_(place) {}

    /// The text's own token, or the likeliest where the text does not say.
    std::optional<std::int64_t> own() const {
        if (place_.written) return place_.written;
        const NextWords words = next_words(snapshot_, place_.sequence, {}, place_.position);
        return words.likeliest.empty() ? std::nullopt : std::optional<std::int64_t>(words.likeliest.front().id);
    }

    std::int32_t named(const char* option, const std::string& text) const {
        const std::vector<std::int32_t> tokens = tokens_named(snapshot_.vocabulary, text);
        if (tokens.empty()) throw Error(fmt::format("{} {}: the vocabulary has no such token", option, escaped(text)));
        if (tokens.size() == 1) return tokens.front();
        const std::int32_t without = tokens.front(), with = tokens.back();
        const bool by_text = place_.written == without || place_.written == with;
        const std::int32_t taken = by_text ? *place_.written : likelier(without, with);
        const std::int32_t other = taken == with ? without : with;
        const bool both_ways = snapshot_.trace->config.architecture == Architecture::Encoder;
        fmt::print(stderr,
                   "attnscope: {} {}: taken for the token \"{}\", {} {} position {}; {} '\"{}\"' is the one with{} a space before it\n",
                   option, escaped(text), escaped(snapshot_.vocabulary[static_cast<std::size_t>(taken)]),
                   by_text ? "which the text has" : "the likelier one", both_ways ? "at" : "after", place_.position, option,
                   escaped(snapshot_.vocabulary[static_cast<std::size_t>(other)]), other == with ? "" : "out");
        return taken;
    }

private:
    std::int32_t likelier(std::int32_t a, std::int32_t b) const {
        const std::vector<float> logits = logits_at(*snapshot_.trace, place_.sequence, place_.position);
        return logits.at(static_cast<std::size_t>(b)) > logits.at(static_cast<std::size_t>(a)) ? b : a;
    }

    const Snapshot& snapshot_;
    AskedPlace place_;
};

}  // namespace

void choose_tokens(const ViewOptions& options, const Snapshot& snapshot, ViewState& view) {
    if (options.token.empty() && options.against.empty()) return;
    if (!snapshot.trace->config.lm_head) throw Error("a model without an output head predicts no tokens: leave out --token and --against");
    const std::optional<AskedPlace> place = asked_place(snapshot, view);
    if (!place) throw Error("--token and --against need a text");
    const NamedTokens tokens(snapshot, *place);
    if (!options.token.empty()) view.locked.set(Axis::V, tokens.named("--token", options.token));
    if (options.against.empty()) return;
    const std::int32_t against = tokens.named("--against", options.against);
    const std::optional<std::int64_t> chosen = view.locked.on(Axis::V), asked = chosen ? chosen : tokens.own();
    if (against == asked && !options.token.empty()) throw Error("--token and --against name the same token");
    if (against == asked)
        throw Error(fmt::format("--against {}: this is the token asked about, so there is no difference; name another one, or ask about "
                                "another with --token",
                                escaped(options.against)));
    view.knock_out.against = against;
}

}  // namespace attn::app
