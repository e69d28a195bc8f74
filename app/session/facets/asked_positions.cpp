#include "app/session/facets/asked_positions.hpp"

#include <algorithm>
#include <string_view>

#include "app/session/states/hidden_words.hpp"
#include "app/session/states/kept_tokenizer.hpp"

namespace attn::app {
namespace {

bool is_asked(TaskKind task, std::span<const Token> before, const Token& token) {
    const auto came = [&](const auto& test) { return std::any_of(before.begin(), before.end(), test); };
    const auto begins_or_follows = [&](std::string_view mark) {
        return token.text == mark || came([&](const Token& earlier) { return earlier.text == mark; });
    };
    switch (task) {
    case TaskKind::Repeat:
        return came([&](const Token& earlier) { return earlier.id == token.id; });
    case TaskKind::Copy:
    case TaskKind::Reverse:
    case TaskKind::Sort:
        return begins_or_follows(">");
    case TaskKind::Sum:
        return begins_or_follows(":");
    case TaskKind::Addition:
        return token.text == "=";
    case TaskKind::Bigram:
    case TaskKind::Text:
    case TaskKind::Stories:
    case TaskKind::FillIn:
    case TaskKind::Translate:
        return true;
    }
    return true;
}

}  // namespace

std::vector<std::uint8_t> asked_positions(TaskKind task, std::span<const Token> tokens) {
    std::vector<std::uint8_t> asked;
    for (std::size_t at = 0; at < tokens.size(); ++at) asked.push_back(is_asked(task, tokens.first(at), tokens[at]) ? 1 : 0);
    return asked;
}

std::vector<std::uint8_t> asked_positions(const State& state, std::span<const std::vector<Token>> texts, std::size_t length) {
    std::vector<std::uint8_t> all;
    if (state.setup->config.architecture == Architecture::Encoder) {
        all = shown_positions(conventions_of(*state.setup).mask, texts);
        const bool every = std::find(all.begin(), all.end(), 0) == all.end();
        return every || all.size() != texts.size() * length ? std::vector<std::uint8_t>() : all;
    }
    if (const MomentOfRun* moment = moment_of(state); moment != nullptr && moment->task) {
        for (const std::vector<Token>& tokens : texts) {
            std::vector<std::uint8_t> asked = asked_positions(*moment->task, tokens);
            asked.resize(length, 0);
            all.insert(all.end(), asked.begin(), asked.end());
        }
    }
    // A text typed by hand may contain nothing that the task asks for; then every position counts.
    const bool some = std::find(all.begin(), all.end(), 1) != all.end(), every = std::find(all.begin(), all.end(), 0) == all.end();
    return some && !every ? all : std::vector<std::uint8_t>();
}

std::vector<std::uint8_t> shown_here(const Snapshot& snapshot) {
    if (snapshot.trace->config.architecture != Architecture::Encoder) return {};
    std::vector<std::uint8_t> shown = shown_positions(conventions_of(*snapshot.state->setup).mask, snapshot.tokens);
    if (shown.size() != snapshot.trace->tokens.ids.size()) shown.clear();
    return shown;
}

}  // namespace attn::app
