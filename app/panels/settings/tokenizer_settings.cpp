#include "app/panels/settings/tokenizer_settings.hpp"

#include <fmt/format.h>

#include <optional>

#include "app/panels/views/token_path_view.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/tokenizer_facts.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

std::optional<TokenizerFacts> own_facts(const PanelContext& context) {
    if (context.document.model != nullptr) return facts_of(*context.document.model->text().pieces());
    const auto& path = context.view.token_path.last;
    return path == nullptr ? std::nullopt : std::optional(path->tokenizer);
}

void draw_facts(const PanelContext& context, const TokenizerFacts& facts) {
    const Ui ui = context.ui();
    value_row(ui, "kind", facts.kind);
    value_row(ui, "pieces", format_count(facts.pieces), "The length of its vocabulary: how many ids there are.");
    if (facts.merges > 0)
        value_row(ui, "merges", format_count(static_cast<std::int64_t>(facts.merges)),
                  "How many pairs its merge list joins. Pairs of lower rank are joined first.");
    if (facts.added > 0)
        value_row(ui, "added tokens", format_count(static_cast<std::int64_t>(facts.added)),
                  "Texts such as <s> that are cut out before anything else and become one piece.");
}

}  // namespace

bool shows_token_path(const PanelContext& context) {
    return context.view.view == View::Step && context.view.stage.stage == Stage::Tokens && has_token_path(context);
}

std::string tokenizer_value(const PanelContext& context) {
    const std::optional<TokenizerFacts> facts = own_facts(context);
    return facts ? facts->kind : "";
}

void draw_tokenizer_facts(PanelContext& context) {
    if (const std::optional<TokenizerFacts> facts = own_facts(context)) draw_facts(context, *facts);
    const auto& other = context.view.token_path.last_other;
    if (!shows_token_path(context) || other == nullptr) return;
    gap(context.ui(), 6);
    section_heading(context.ui(), "Beside it");
    value_row(context.ui(), "name", visible_text(other->name, true));
    draw_facts(context, other->path.tokenizer);
}

}  // namespace attn::app
