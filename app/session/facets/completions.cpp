#include "app/session/values/completions.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "app/session/document/new_words.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/grammar/stories.hpp"
#include "engine/grammar/story_words.hpp"
#include "engine/tokenizer/letter_case.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {
namespace {

/// How many tokens the pass has read of a text that begins like this; 0 if it has read something else.
std::size_t tokens_read(const Snapshot& pass, const TextOfState& text, const std::string& before) {
    const auto& texts = text.source ? pass.source_tokens : pass.tokens;
    if (text.sequence < 0 || text.sequence >= std::ssize(texts)) return 0;  // added a moment ago
    const std::vector<Token>& read = texts[static_cast<std::size_t>(text.sequence)];
    const std::vector<TextToken> begins =
        KeptTokenizer().of(*pass.state->setup)->tokens_of(before, text.source ? Reader::Model : Reader::Decoder);
    const bool same =
        begins.size() <= read.size() && std::equal(begins.begin(), begins.end(), read.begin(),
                                                   [](const TextToken& a, const Token& b) { return a.id == b.id && !b.padding; });
    return same ? begins.size() : 0;
}

/// The chance of every token to follow the text, if the pass tells.
std::vector<double> chances_after(const Snapshot& pass, const TextOfState& text, const std::string& before) {
    const Config& config = pass.trace->config;
    const bool predicts = config.lm_head && !text.source && config.architecture != Architecture::Encoder &&
                          (config.architecture == Architecture::EncoderDecoder || pass.trace->settings.masks.causal);
    const std::size_t length = predicts ? tokens_read(pass, text, before) : 0;
    if (length == 0) return {};
    const std::vector<float> logits = logits_at(*pass.trace, text.sequence, static_cast<std::int64_t>(length) - 1);
    const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    std::vector<double> chances;
    double sum = 0;
    for (const float logit : logits) sum += chances.emplace_back(std::exp(static_cast<double>(logit) - largest));
    for (double& chance : chances) chance /= sum;
    return chances;
}

}  // namespace

Completions completions_of(const Snapshot& pass, const TextOfState& text, const std::string& before, const std::string& typed) {
    Completions found;
    if (typed.empty()) return found;
    const std::vector<double> chances = chances_after(pass, text, before);
    const auto first = static_cast<std::size_t>(conventions_of(*pass.state->setup).first_word);
    const std::string beginning = in_lower_case(typed);
    for (std::size_t id = first; id < pass.vocabulary.size(); ++id) {
        const std::string& word = pass.vocabulary[id];
        if (word == typed || !in_lower_case(word).starts_with(beginning)) continue;
        Completion& one = found.best.emplace_back(Completion{static_cast<std::int32_t>(id), word});
        if (id < chances.size()) one.chance = chances[id];
    }
    std::sort(found.best.begin(), found.best.end(), [](const Completion& a, const Completion& b) {
        const auto place = [](const Completion& one) { return std::tuple(-one.chance.value_or(0), in_lower_case(one.word), one.word); };
        return place(a) < place(b);
    });
    found.best.resize(std::min(found.best.size(), kMostCompletions));
    return found;
}

KnownWords known_words_of(const Setup& setup) {
    const std::span<const std::string> known = known_words(setup);
    const std::vector<std::string>& told = stories().vocabulary();
    KnownWords words;
    // A model of the stories may know more than their words: what hides one.
    if (known.size() >= told.size() && std::equal(told.begin(), told.end(), known.begin())) {
        for (const std::string_view name : kStoryWordsNames) words.kinds.push_back({std::string(name), {}});
        for (std::size_t i = 0; i < told.size(); ++i) words.kinds[static_cast<std::size_t>(story_words()[i])].words.push_back(told[i]);
    } else {
        words.kinds.push_back({"", {known.begin(), known.end()}});
    }
    for (KnownWords::Kind& kind : words.kinds)
        std::sort(kind.words.begin(), kind.words.end(), [](const std::string& a, const std::string& b) {
            return std::tuple(in_lower_case(a), a) < std::tuple(in_lower_case(b), b);
        });
    return words;
}

Job<Completions> facet::Completions::make(const Completions& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work&) { return completions_of(*pass, wanted.text, wanted.before, wanted.typed); };
}

Job<KnownWords> facet::KnownWords::make(const KnownWords&, Ask& ask) {
    return [setup = ask.state()->setup](const Work&) { return known_words_of(*setup); };
}

}  // namespace attn::app
