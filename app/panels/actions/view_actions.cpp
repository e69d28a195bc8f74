#include "app/panels/actions/view_actions.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/navigation.hpp"

namespace attn::app {
namespace {

using C = PanelContext;

void add(std::vector<Action>& all, std::string name, const char* group, std::function<void(C&)> run, std::string detail) {
    all.push_back(without_key(std::move(name), group, std::move(run), &PanelContext::ready, std::move(detail)));
}

void add_lines(const C& context, std::vector<Action>& all) {
    add(
        all, "Lines of one layer or of all", "Lines",
        [](C& c) {
            c.view.lines.all_layers = !c.view.lines.all_layers;
            c.view.view = View::Lines;
        },
        "Small pictures of all layers, or the chosen one.");
    add(
        all, "Lines of the mean over the heads on or off", "Lines",
        [](C& c) {
            c.view.lines.mean = !c.view.lines.mean;
            c.view.view = View::Lines;
        },
        "");
    add(
        all, "Lines of all heads", "Lines",
        [](C& c) {
            c.view.lines.hidden.clear();
            c.view.view = View::Lines;
        },
        "Shows every head again.");
    const std::int64_t heads = context.ready() ? head_count(context.structure()) : 0;
    for (std::int64_t head = 0; head < heads; ++head) {
        add(
            all, fmt::format("Lines of head {} on or off", head), "Lines",
            [head](C& c) {
                c.view.lines.toggle(head);
                c.view.view = View::Lines;
            },
            "Same as a click on its chip.");
        add(
            all, fmt::format("Lines of head {} alone", head), "Lines",
            [head, heads](C& c) {
                c.view.lines.before_click.clear();
                c.view.lines.isolate(head, heads);
                c.view.head = head;
                c.view.view = View::Lines;
            },
            "Same as a double-click on its chip.");
    }
}

void add_totals(std::vector<Action>& all) {
    for (const bool rollout : {true, false})
        add(
            all, rollout ? "Totals as attention rollout" : "Totals as mean attention", "Totals",
            [rollout](C& c) {
                c.view.totals.rollout = rollout;
                c.view.view = View::Totals;
            },
            rollout ? "What reaches a position through all layers." : "The plain mean of all maps.");
}

void add_many_heads(const C& context, std::vector<Action>& all) {
    add(
        all, "Leave out the first key: on or off", "Heads", [](C& c) { c.view.heads.without_first_key = !c.view.heads.without_first_key; },
        "In Heads and Grid: shows what else sinks attend to.");
    all.back().also = "attention sink";
    add(
        all, "Weights times value norm: on or off", "Heads", [](C& c) { c.view.heads.norm_weighted = !c.view.heads.norm_weighted; },
        "In Heads and Grid: weight × ‖v W_O‖.");
    all.back().also = "norm length";
    const bool cross = context.ready() && context.structure().config.architecture == Architecture::EncoderDecoder;
    for (const PatternInfo& pattern : head_patterns()) {
        if (pattern.name == std::string_view("alignment") && !cross) continue;
        add(
            all, fmt::format("Find heads: {}", pattern.short_name), "Heads",
            [&pattern](C& c) {
                c.view.grid.find = pattern.short_name;
                c.view.view = View::Grid;
            },
            fmt::format("Frames them in Grid: {}.", pattern.name));
        all.back().also = pattern.words;
    }
}

void add_comparison(const C& context, std::vector<Action>& all) {
    static constexpr std::array<std::pair<CompareLayout, const char*>, 4> kLayouts = {
        {{CompareLayout::All, "as B − A = difference"},
         {CompareLayout::SideBySide, "side by side"},
         {CompareLayout::Difference, "as the difference alone"},
         {CompareLayout::InPlace, "in place, while X is held"}}};
    for (const auto& [layout, words] : kLayouts)
        add(
            all, fmt::format("Compare {}", words), "Compare",
            [layout = layout](C& c) {
                c.view.compare.lay_out(layout);
                if (!c.view.compare.on())
                    c.view.compare.choose(can_compare(c, c.view.compare.last) ? c.view.compare.last : Compare::Unmasked);
            },
            "");
    const std::int64_t heads = context.ready() ? head_count(context.structure()) : 0;
    for (std::int64_t head = 0; head < heads; ++head)
        add(
            all, fmt::format("Compare with head {}", head), "Compare",
            [head](C& c) {
                c.view.compare.head = head;
                if (!c.view.compare.on()) c.view.compare.choose(Compare::Itself);
            },
            "");
}

void add_histogram(std::vector<Action>& all) {
    add(
        all, "Histogram of the map or of the whole tensor", "Histogram", [](C& c) { c.view.histogram.whole = !c.view.histogram.whole; },
        "In the right pane.");
    add(
        all, "Histogram with logarithmic heights on or off", "Histogram", [](C& c) { c.view.histogram.log = !c.view.histogram.log; }, "");
}

}  // namespace

void add_view_actions(const PanelContext& context, std::vector<Action>& all) {
    add_lines(context, all);
    add_totals(all);
    add_many_heads(context, all);
    add_comparison(context, all);
    add_histogram(all);
}

}  // namespace attn::app
