#include "tests/support/window_agreement.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/session/document/writing.hpp"

namespace attn::app::test {
namespace {

/// A part of the document beside the same part of what is shown. Written down here once more, rather than taken from the product.
struct Compared {
    SetupPart part;
    bool same;
};

std::vector<Compared> compare(const Setup& asked, const Setup& shown) {
    const ForwardSettings &now = asked.forward, &then = shown.forward;
    return {{SetupPart::Masks, now.masks == then.masks},
            {SetupPart::Softmax, now.temperature == then.temperature && now.dropout == then.dropout},
            {SetupPart::Edits, now.edits == then.edits},
            {SetupPart::Mistake, now.mistake == then.mistake},
            {SetupPart::Model, asked.model == shown.model && asked.shipped == shown.shipped && asked.config == shown.config &&
                                   asked.tokenizer == shown.tokenizer}};
}

}  // namespace

std::string disagreement_in_window(const PanelContext& context) {
    const DrawnParts& drawn = context.view.drawn;
    const Snapshot& snapshot = context.snapshot;
    if (snapshot.trace == nullptr) return drawn.verified ? "the badge is green before anything is shown" : "";
    if (context.states.shown != snapshot.state) return "the maps and the facets belong to different states";
    const Setup &asked = context.document, &shown = *snapshot.state->setup;
    const bool refused = !snapshot.problem.empty(), settled = !context.outdated;
    if (snapshot.trace->settings != shown.forward) return "the numbers have other settings than their state";

    const bool same_text = asked.texts == shown.texts && asked.source_texts == shown.source_texts && asked.written == shown.written;
    bool same = same_text;
    for (const Compared& part : compare(asked, shown)) {
        same = same && part.same;
        if (part.same || !settled) continue;
        if (!refused) return "settings are drawn that the maps do not have, and nothing says so";
        if (drawn.settings.has(part.part) && !drawn.marked.has(part.part)) return "settings that the maps do not have are not marked";
    }
    if (!same_text && settled && !refused) return "another text is asked for than shown, and nothing says so";
    if (!same && drawn.verified) return "the badge is green beside what was not asked for";
    if (refused && drawn.centre && !drawn.problem) return "nothing says what cannot be computed";

    if (drawn.chips.state != nullptr) {
        if (drawn.chips.state != snapshot.state) return "the chips belong to another state than the maps";
        const auto& texts = drawn.chips.source ? snapshot.source_tokens : snapshot.tokens;
        const auto last = std::max<std::ptrdiff_t>(std::ssize(texts) - 1, 0);
        if (static_cast<std::ptrdiff_t>(drawn.chips.sequence) != std::clamp<std::ptrdiff_t>(context.view.batch, 0, last))
            return "the chips belong to another text than the maps";
        if (refused && !same_text && !drawn.unread_text) return "the text that cannot be read is not shown";
    }
    for (const DrawnParts::Words& words : {drawn.next_words, drawn.candidates}) {
        if (words.state == nullptr) continue;
        if (words.state != snapshot.state) return "the next words belong to another state than the maps";
        if (words.act && !same_text) return "the next words act on another text than the one they follow";
    }
    // While tokens are being written, the branches are ahead of the maps.
    if (drawn.written && settled) {
        const auto& sequences = snapshot.tokens;
        const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, std::ssize(sequences) - 1));
        const auto end = std::find_if(sequences[at].begin(), sequences[at].end(), [](const Token& token) { return token.padding; });
        if (static_cast<std::ptrdiff_t>(drawn.written->tokens) != end - sequences[at].begin())
            return "the Write view ends at another token than the text row";
        if (drawn.written->tokens > 0 && drawn.written->last != std::prev(end)->id)
            return "the Write view ends with another token than the text row";
    }
    return "";
}

}  // namespace attn::app::test
