#include "app/session/files/stage_snippet.hpp"

#include "app/session/facets/held_stages.hpp"

namespace attn::app {
namespace {

std::vector<std::vector<std::string>> texts_of(const std::vector<std::vector<Token>>& sequences,
                                               const std::vector<std::string>& vocabulary) {
    std::vector<std::vector<std::string>> texts;
    for (const std::vector<Token>& sequence : sequences) {
        texts.emplace_back();
        for (const Token& token : sequence) {
            // New words that share a place are one word to the model.
            const bool named =
                (token.unknown || token.padding || token.place > 0) && token.id < static_cast<std::int32_t>(vocabulary.size());
            texts.back().push_back(named ? vocabulary[static_cast<std::size_t>(token.id)] : token.text);
        }
    }
    return texts;
}

}  // namespace

Snippet stage_snippet(const Snapshot& snapshot, const StageId& id, const SnippetOptions& options, const std::stop_token& stop) {
    const std::shared_ptr<const Trace<float>> trace = trace_with(snapshot, id, stop);
    const SnippetTexts texts{texts_of(snapshot.tokens, snapshot.vocabulary), texts_of(snapshot.source_tokens, snapshot.vocabulary),
                             snapshot.vocabulary};
    return make_snippet(*trace, id, texts, options);
}

}  // namespace attn::app
