#include "app/panels/actions/listed_actions.hpp"
#include "app/panels/actions/control_actions.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/settings/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/settings/mistakes.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::string stage_words(const Plan& plan, const StageId& id) {
    std::string words = plan.name_of(id);
    if (id.stack == Stack::Encoder) words += " of the encoder";
    if (id.stack == Stack::Decoder) words += " of the decoder";
    if (id.layer >= 0) words += fmt::format(", layer {}", id.layer);
    return words;
}

/// What a stage is also called.
std::string_view other_names(Stage stage) {
    switch (stage) {
    case Stage::Weights:
        return "weights, attention, who looks, who looks at whom";
    case Stage::Scores:
        return "scores, q k, dot product, how well they fit";
    case Stage::Q:
        return "query, queries, qkv";
    case Stage::K:
        return "key";
    case Stage::V:
        return "value, values";
    case Stage::Norm1:
        return "norm, layernorm";
    case Stage::FfnOut:
        return "feed-forward, feed forward, mlp, ffn";
    case Stage::Residual1:
        return "residual, skip, added";
    case Stage::Context:
        return "mixed, what each word takes in";
    case Stage::Embedding:
        return "embedding, vector, comes in";
    case Stage::Probabilities:
        return "next, answer, probabilities, predict, what comes next";
    case Stage::Tokens:
        return "word, words, ids";
    default:
        return "";
    }
}

/// Views of many heads frame the head and scroll to it; other views open its weights.
void show_head(PanelContext& context, const StageId& weights, std::int64_t head) {
    ViewState& view = context.view;
    const bool many = view.view == View::Grid || view.view == View::Heads;
    if (!many) view.view = View::Step;
    view.stage = many ? of_same_attention(weights, view.heads.stage) : weights;
    view.head = head;
}

void add_places(const PanelContext& context, std::vector<Action>& all) {
    if (!context.ready()) return;
    const Structure& structure = context.structure();
    // Of equal names, the one in the shown layer comes first.
    std::vector<PlanNode> nodes(structure.plan->nodes().begin(), structure.plan->nodes().end());
    std::stable_partition(nodes.begin(), nodes.end(), [&](const PlanNode& node) {
        return node.id.layer == context.view.stage.layer && node.id.stack == context.view.stage.stack;
    });
    for (const PlanNode& stage : nodes) {
        all.push_back(without_key(
            "Go to " + stage_words(*structure.plan, stage.id), "Stage",
            [id = stage.id](PanelContext& c) {
                c.view.stage = id;
                c.view.view = View::Step;
            },
            &PanelContext::ready,
            fmt::format("{}, {}", stage_title(stage.id, token_noun(context.snapshot)), stage_symbol(stage.id.stage))));
        all.back().also = other_names(stage.id.stage);
    }
    for (std::int64_t head = 0; head < head_count(structure); ++head) {
        all.push_back(without_key(
            fmt::format("Go to head {}", head), "Head", [head](PanelContext& c) { c.view.head = head; }, &PanelContext::ready, ""));
        all.back().also = fmt::format("head {}", head);
    }
    for (const PlanNode& stage : structure.plan->nodes()) {
        if (stage.id.stage != Stage::Weights) continue;
        const std::string side = stage.id.stack == Stack::Encoder ? "encoder " : stage.id.attention == kCrossAttention ? "cross " : "";
        for (std::int64_t head = 0; head < head_count(structure); ++head)
            all.push_back(without_key(
                fmt::format("{}L{} H{}", side, stage.id.layer, head), "Head",
                [id = stage.id, head](PanelContext& c) { show_head(c, id, head); }, &PanelContext::ready,
                fmt::format("layer {}, head {}", stage.id.layer, head)));
    }
    const std::int64_t most = structure.config.most_layers();
    for (int layer = 0; layer < static_cast<int>(most); ++layer) {
        all.push_back(without_key(
            fmt::format("Go to layer {}", layer), "Layer", [layer](PanelContext& c) { go_to_layer(c.view, c.structure(), layer); },
            &PanelContext::ready, ""));
        all.back().also = fmt::format("layer {}", layer);
    }
    for (std::int64_t sequence = 0; sequence < batch_size(structure) && batch_size(structure) > 1; ++sequence)
        all.push_back(without_key(
            fmt::format("Go to text {}", sequence + 1), "Text", [sequence](PanelContext& c) { c.view.next_batch = sequence; },
            &PanelContext::ready, ""));
}

void add_recent_files(const PanelContext& context, std::vector<Action>& all) {
    if (!context.abilities.lists_files) return;
    for (const std::string& recent : context.files.recent) {
        const std::filesystem::path path = recent;
        all.push_back(without_key(
            "Open recent: " + visible_text(path.filename().string()), "File",
            [path](PanelContext& c) {
                c.commands.push_back({command::OpenFile{path}, ""});
            },
            {}, visible_text(path.parent_path().string())));
    }
}

void add_link(const PanelContext& context, std::vector<Action>& all) {
    if (!context.abilities.copies_links) return;
    all.push_back(without_key(
        "Copy a link to what is shown", "File", [](PanelContext& c) { c.view.files.wants_link = true; }, {}, kLinkWords));
}

void add_lessons(std::vector<Action>& all) {
    for (const auto& lesson : lessons())
        all.push_back(without_key(
            "Lesson: " + lesson->title, "Lesson", [lesson](PanelContext& c) { open_lesson(c.view, c.document, lesson); }, {},
            lesson->summary));
}

void add_examples(std::vector<Action>& all) {
    for (const Preset& preset : presets())
        for (std::size_t i = 0; i < preset.sentences.size(); ++i) {
            const PresetSentence& sentence = preset.sentences[i];
            all.push_back(without_key(
                "Open the example " + preset.title + (sentence.title.empty() ? "" : ": " + sentence.title), "Example",
                [&preset, i](PanelContext& c) { open_example(c, preset, i); }, {}, sentence.look_at));
            all.back().also = preset.name;  // the name in the models menu and on the command line
        }
}

void add_tasks(std::vector<Action>& all) {
    for (const TaskInfo& task : tasks())
        all.push_back(without_key(
            fmt::format("Train on {}", task.title), "Training",
            [kind = task.kind](PanelContext& c) {
                emit_run(c, default_run(kind), "");
                c.view.view = View::Train;
            },
            {}, task.explanation));
}

void add_mistakes(std::vector<Action>& all) {
    const auto add = [&](std::string name, Mistake mistake, std::string_view detail) {
        all.push_back(without_key(
            std::move(name), "Break", [mistake](PanelContext& c) { set_mistake(c, mistake); }, &PanelContext::ready, std::string(detail)));
    };
    for (const MistakeInfo& info : mistakes()) {
        add(fmt::format("Break it: {}", info.title), info.mistake, info.look);
        all.back().also = info.name;  // as the doctor and --bug call it
    }
    for (const MistakeInfo& info : mistakes()) {
        all.push_back(without_key(
            fmt::format("Train correct and broken: {}", info.title), "Break",
            [mistake = info.mistake](PanelContext& c) { train_both(c, mistake); }, {},
            "Two runs with the same seed, one without the mistake and one with it."));
        all.back().also = info.name;
    }
    add("Remove the deliberate mistake", Mistake::None, "Computes correctly again.");
}

void add_colors(std::vector<Action>& all) {
    for (int i = 0; i < kColorMapCount; ++i) {
        const auto map = static_cast<ColorMap>(i);
        all.push_back(without_key(
            fmt::format("Colours of signed numbers: {}", color_map_words(map)), "Colours",
            [map](PanelContext& c) { c.view.signed_colors.map = map; }, {}, ""));
        all.push_back(without_key(
            fmt::format("Colours of probabilities: {}", color_map_words(map)), "Colours",
            [map](PanelContext& c) { c.view.probability_colors.map = map; }, {}, ""));
    }
}

struct PartSwitch {
    const char* name;
    bool Config::*part;
};
constexpr std::array<PartSwitch, 8> kParts = {{{"W_O, the output projection", &Config::output_projection},
                                               {"Residual additions", &Config::residual},
                                               {"Feed-forward layer", &Config::feed_forward},
                                               {"Gate of the feed-forward layer", &Config::ffn_gated},
                                               {"Biases of the feed-forward layer", &Config::ffn_bias},
                                               {"Biases of Q, K and V", &Config::qkv_bias},
                                               {"Final norm", &Config::final_norm},
                                               {"Output head", &Config::lm_head}}};

void add_parts(std::vector<Action>& all) {
    for (const PartSwitch& part : kParts)
        all.push_back(without_key(
            fmt::format("{} on or off", part.name), "Model",
            [field = part.part](PanelContext& c) {
                Config config = c.document.config;
                config.*field = !(config.*field);
                emit_config(c, config, "");
            },
            {}, "Draws new parameters, even in place of a trained model's."));
    for (Action& action : all) action.careful |= action.group == "Model";
}

}  // namespace

void add_listed_actions(const PanelContext& context, std::vector<Action>& all) {
    const auto add_of_kind = [&all](ActionKind kind, const auto& add) {
        const std::size_t from = all.size();
        add();
        for (std::size_t i = from; i < all.size(); ++i) all[i].kind = kind;
    };
    add_of_kind(ActionKind::Lesson, [&] { add_lessons(all); });
    add_of_kind(ActionKind::Example, [&] { add_examples(all); });
    add_recent_files(context, all);
    add_link(context, all);
    add_tasks(all);
    add_of_kind(ActionKind::Place, [&] { add_places(context, all); });
    add_parts(all);
    add_of_kind(ActionKind::Mistake, [&] { add_mistakes(all); });
    add_colors(all);
}

void add_settings_actions(const PanelContext& context, std::vector<Action>& all) {
    for (const ListedSection& section : listed_sections(context, true)) {
        all.push_back(without_key(
            fmt::format("Settings: {}", section.title), "Panes",
            [name = section.name, title = std::string(section.title), view = section.view](PanelContext& c) {
                if (view) c.view.view = *view;
                open_settings_section(c.view, name);
                frame_control(c, title);
            },
            {}, ""));
        all.back().kind = ActionKind::Setting;
        all.back().also = section.words;
    }
}

}  // namespace attn::app
