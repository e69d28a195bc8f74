#include "app/panels/kit/asked_and_shown.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace attn::app {

SetupParts parts_not_shown(const PanelContext& context) {
    const StateRef& shown = context.snapshot.state;
    if (shown == nullptr || (!context.outdated && context.snapshot.problem.empty())) return {};
    const SetupParts differing = differing_parts(context.document, *shown->setup);
    // Of the run that is followed, any recent moment is shown.
    const MomentOfRun* moment = moment_of(*shown);
    const std::uint64_t asked_run = context.document.trained ? context.document.trained->run : 0;
    return asked_run == (moment == nullptr ? 0 : moment->run) ? differing : differing | SetupParts::of(SetupPart::Model);
}

SetupParts parts_refused(const PanelContext& context) { return context.snapshot.problem.empty() ? SetupParts() : parts_not_shown(context); }

bool shows_asked_text(const PanelContext& context) {
    const StateRef& shown = context.snapshot.state;
    if (shown == nullptr) return false;
    if (!context.outdated && context.snapshot.problem.empty()) return true;
    const Setup &asked = context.document, &setup = *shown->setup;
    const bool same_words = asked.model == setup.model && asked.texts == setup.texts && asked.source_texts == setup.source_texts;
    return same_words && (context.snapshot.problem.empty() || asked.written == setup.written);
}

std::optional<double> fades_at(const ViewState& view) {
    constexpr double kFadesAfter = 0.25;  // seconds; quicker changes would flicker
    return view.outdated_since ? std::optional(*view.outdated_since + kFadesAfter) : std::nullopt;
}

bool fades_now(const PanelContext& context) {
    if (context.ready() && parts_refused(context).has(SetupPart::Text)) return true;
    const std::optional<double> from = fades_at(context.view);
    return from && context.now >= *from;
}

std::optional<UnreadText> unread_text(const PanelContext& context, UnreadText preferred) {
    if (!parts_refused(context).has(SetupPart::Text)) return {};
    const Setup &asked = context.document, &shown = *context.snapshot.state->setup;
    const auto texts_of = [](const Setup& setup, bool source) -> const std::vector<std::string>& {
        return source ? setup.source_texts : setup.texts;
    };
    const auto is_unread = [&](const UnreadText& text) {
        const std::vector<std::string>&now = texts_of(asked, text.source), &before = texts_of(shown, text.source);
        return text.index < now.size() && (text.index >= before.size() || now[text.index] != before[text.index]);
    };
    if (is_unread(preferred)) return preferred;
    for (const bool source : {false, true})
        for (std::size_t i = 0; i < texts_of(asked, source).size(); ++i)
            if (is_unread({i, source})) return UnreadText{i, source};
    return preferred;  // generated tokens, or fewer texts
}

std::string problem_words(const PanelContext& context) {
    const std::string& problem = context.snapshot.problem;
    if (!context.ready()) return problem + ".";
    const std::string parts = words_for(parts_not_shown(context));
    if (parts.empty()) return problem + " — below is what was computed before.";
    return fmt::format("{} — below, {} {} as before; every other change is shown.", problem, parts,
                       parts.find(" and ") != std::string::npos || parts.ends_with('s') ? "are" : "is");
}

}  // namespace attn::app
