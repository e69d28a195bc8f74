#include "engine/recording/edited_trace.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/explain/edit_list.hpp"
#include "engine/io/file_error.hpp"
#include "engine/recording/recompute.hpp"
#include "engine/recording/stage_axes.hpp"
#include "engine/recording/stage_order.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn::recording {
namespace {

/// Where the stages of a group are in its trace, by the names of their numbers in the step.
using StagePlaces = std::map<std::string, StageId, std::less<>>;

StagePlaces stage_places(const RecordedGroup& recorded, const Trace<float>& trace) {
    StagePlaces places;
    const AttentionGroup& group = recorded.group;
    for (std::size_t layer = 0; layer < group.members.size(); ++layer) {
        const RecordedAttention& attention = recorded.graph.attentions[group.members[layer]];
        for (const RecordedStage& stage : attention.stages)
            if (const auto id = place_of(group, attention, stage, layer); id && trace.find(*id) != nullptr)
                places.emplace(full_name(attention, stage), *id);
    }
    for (std::size_t i = 0; i < group.matrices.size(); ++i) places.emplace(group.matrices[i], place_of_matrix(group, i));
    return places;
}

/// How the cells of a stage's picture stand in its numbers. Matrices are drawn in the order in which they are stored.
std::optional<CellPlaces> cells_of(const Numbers& numbers, const AttentionGroup& group, const attn::RecordedStage<float>& shown) {
    const Shape& shape = shown.value.shape();
    if (group.matrices.empty()) return CellPlaces::of(numbers.shape, numbers.axes, letters_of(shown.id.stage), shape);
    if (numbers.count() != shape.count()) return {};
    return CellPlaces::in_order(shape);
}

/// Operations that read two tensors; the others read one.
bool reads_two(std::string_view op) { return op == "product" || op == "cosine" || op == "additive" || op == "add" || op == "join"; }

/// Goes through a graph in order of computation and finds out what edits make of it.
class GraphEditor {
public:
    GraphEditor(const Trace<float>& trace, const RecordedGroup& recorded, const std::vector<Edit>& edits, const std::stop_token& stop)
        : trace_(trace), recorded_(recorded), edits_(edits), stop_(stop), places_(stage_places(recorded, trace)) {}

    const StagePlaces& places() const { return places_; }

    const ChangedStages& changed() const { return changed_; }
    /// Why a stage is not known any more; "" if it is.
    std::string why_lost(const std::string& name) const {
        const auto lost = lost_.find(name);
        if (lost == lost_.end()) return "";
        const auto& [root, why] = lost->second;
        if (root == name) return "it is not known what your edit makes of it: " + why;
        return "it follows from " + escaped(root) + ", and it is not known what your edit makes of that: " + why;
    }

    void run() {
        const std::vector<LinkedStage> stages = stages_in_order(recorded_.graph);
        const std::set<std::string_view> needed = needed_for_the_picture(stages);
        for (const LinkedStage& each : stages) note_edited(each);
        for (const LinkedStage& each : stages) {
            if (stop_.stop_requested()) throw Cancelled();
            if (!needed.contains(each.name)) continue;
            if (reads_changed(each)) compute_again(each);
            else if (may_follow_an_edit(each)) lose(each.name, "the recording does not say what it is computed from");
            edit(each.name, owner_of(each), *each.stage);
        }
        for (const std::string& name : recorded_.group.matrices)
            if (has_edit(name) && std::none_of(stages.begin(), stages.end(), [&](const LinkedStage& each) { return each.name == name; }))
                edit_matrix(name);
    }

private:
    /// Where an edit was made: in which attention, and at which of its stages.
    struct Edited {
        std::size_t attention, place;
    };

    /// The stage with which it begins that stages are not known any more, and why.
    struct Loss {
        std::string root, why;
    };

    /// The names of the stages that are drawn, and of all that they are computed from.
    std::set<std::string_view> needed_for_the_picture(const std::vector<LinkedStage>& stages) const {
        std::set<std::string_view> needed;
        for (auto each = stages.rbegin(); each != stages.rend(); ++each) {
            if (!places_.contains(each->name) && !needed.contains(each->name)) continue;
            needed.insert(each->name);
            needed.insert(each->reads.begin(), each->reads.end());
        }
        return needed;
    }

    /// A stage between attentions has an owner without stages or sizes.
    const RecordedAttention& owner_of(const LinkedStage& each) const {
        return each.attention ? recorded_.graph.attentions[*each.attention] : nobody_;
    }

    bool has_edit(const std::string& name) const {
        const auto found = places_.find(name);
        return found != places_.end() && any_edit_at(edits_, found->second);
    }

    void note_edited(const LinkedStage& each) {
        const auto found = each.attention ? places_.find(each.name) : places_.end();
        if (found == places_.end()) return;
        const auto has_effect = [&](const Edit& edit) {
            return edit.on && edit.at == found->second && why_without_effect(edit, trace_).empty();
        };
        if (std::any_of(edits_.begin(), edits_.end(), has_effect)) edited_.push_back({*each.attention, each.place});
    }

    bool reads_changed(const LinkedStage& each) const {
        return std::any_of(each.reads.begin(), each.reads.end(),
                           [&](const std::string& name) { return changed_.contains(name) || lost_.contains(name); });
    }

    void lose(const std::string& name, const std::string& why) { lost_.emplace(name, Loss{name, why}); }

    void compute_again(const LinkedStage& each) {
        for (const std::string& name : each.reads)
            if (const auto lost = lost_.find(name); lost != lost_.end()) return void(lost_.emplace(each.name, lost->second));
        StageNumbers after = stage_after(changed_, recorded_.graph, owner_of(each), *each.stage, recorded_.step, recorded_.parameter);
        if (after.numbers) changed_.emplace(each.name, std::move(*after.numbers));
        else if (!after.why.empty()) lose(each.name, after.why);
    }

    /// Whether the recording does not name all that a stage is computed from.
    static bool lacks_inputs(const RecordedStage& stage) {
        if (stage.op == "embedding") return false;
        if (stage.op == "given") return stage.inputs.empty();
        return stage.inputs.size() < (reads_two(stage.op) ? 2U : 1U);
    }

    /// Whether the recorded code got it from elsewhere.
    bool is_from_outside(const RecordedStage& stage) const {
        if (stage.op != "given" || !recorded_.recording.has_graph) return false;
        return stage.called.empty() || stage.called == "given" || stage.called == "mask" || stage.called == "bias" ||
               stage.called == "embedding";
    }

    /// A map, or what is made of it: not what goes into the first map. Queries, keys and values can be told by their axes.
    bool is_past_its_operands(const LinkedStage& each) const {
        if (!each.attention || each.stage->axes.find('T') == std::string::npos) return false;
        const std::vector<RecordedStage>& stages = recorded_.graph.attentions[*each.attention].stages;
        const auto is_map = [](const RecordedStage& stage) {
            return stage.axes.find('T') != std::string::npos && stage.axes.find('S') != std::string::npos;
        };
        const auto first = std::find_if(stages.begin(), stages.end(), is_map);
        return each.place >= static_cast<std::size_t>(first - stages.begin());
    }

    /// Whether a stage whose inputs are not known may come from an edited one: the code came to it later.
    bool may_follow_an_edit(const LinkedStage& each) const {
        return lacks_inputs(*each.stage) && std::any_of(edited_.begin(), edited_.end(), [&](const Edited& edited) {
                   if (each.attention == edited.attention) return each.place > edited.place && is_past_its_operands(each);
                   const bool is_later = !each.first_reader || *each.first_reader > edited.attention;
                   return is_later && !is_from_outside(*each.stage);
               });
    }

    void edit(const std::string& name, const RecordedAttention& owner, const RecordedStage& stage) {
        if (!has_edit(name) || lost_.contains(name)) return;
        if (const auto known = changed_.find(name); known != changed_.end()) return void(set_cells(name, known->second));
        StageNumbers before = unedited_stage(recorded_.graph, owner, stage, recorded_.step, recorded_.parameter);
        if (before.numbers) keep_if_set(name, std::move(*before.numbers));
        else if (recorded_.group.matrices.empty()) lose(name, before.why);
        else edit_matrix(name);
    }

    /// Of a matrix the letters of its axes need not be known.
    void edit_matrix(const std::string& name) {
        const NamedArray array = recorded_.step.read(name);
        Numbers numbers{"", array.shape, values_as<double>(array, recorded_.step.source()), {}, eps_of(array.dtype)};
        numbers.slack.assign(numbers.values.size(), 0);
        keep_if_set(name, std::move(numbers));
    }

    void keep_if_set(const std::string& name, Numbers numbers) {
        if (set_cells(name, numbers)) changed_.emplace(name, std::move(numbers));
    }

    /// Changes the numbers by the edits of the stage; whether any has changed. A number that stands for several cells of the picture
    /// changes if one of them does.
    bool set_cells(const std::string& name, Numbers& numbers) const {
        const attn::RecordedStage<float>& shown = *trace_.find(places_.at(name));
        const std::optional<CellPlaces> places = cells_of(numbers, recorded_.group, shown);
        if (!places) throw Error("the numbers of " + escaped(name) + " have another size than its picture");
        Tensor<double> before(shown.value.shape());
        places->for_cells([&](std::size_t cell, std::size_t place) { before.data()[cell] = numbers.values[place]; });
        Tensor<double> after = before;
        apply_edits<double>(edits_, shown.id, after, shown.mask.get());
        // Code in half precision could not hold all that is typed; what is typed is what is asked for.
        const double eps = std::min(numbers.eps, eps_of(DType::F32));
        bool any = false;
        places->for_cells([&](std::size_t cell, std::size_t place) {
            if (is_same(after.data()[cell], before.data()[cell])) return;
            numbers.values[place] = rounded(after.data()[cell], eps);
            any = true;
        });
        return any;
    }

    const Trace<float>& trace_;
    const RecordedGroup& recorded_;
    const std::vector<Edit>& edits_;
    const std::stop_token& stop_;
    StagePlaces places_;
    RecordedAttention nobody_;
    std::vector<Edited> edited_;
    ChangedStages changed_;
    std::map<std::string, Loss, std::less<>> lost_;  ///< by their names in the step
};

/// Puts the numbers of a changed stage into its picture.
void show(const Numbers& numbers, const AttentionGroup& group, attn::RecordedStage<float>& shown) {
    if (const std::optional<CellPlaces> places = cells_of(numbers, group, shown))
        places->for_cells(
            [&](std::size_t cell, std::size_t place) { shown.value.data()[cell] = static_cast<float>(numbers.values[place]); });
}

/// The plan without the stages that are lost.
std::shared_ptr<const Plan> plan_without(const std::vector<LostStage>& lost, const Plan& plan) {
    std::vector<PlanNode> nodes;
    for (const PlanNode& node : plan.nodes())
        if (std::none_of(lost.begin(), lost.end(), [&](const LostStage& each) { return each.id == node.id; })) nodes.push_back(node);
    return std::make_shared<const Plan>(std::move(nodes));
}

}  // namespace

Trace<float> with_edits(Trace<float> unedited, const RecordedGroup& recorded, const std::vector<Edit>& edits, const std::stop_token& stop) {
    GraphEditor editor(unedited, recorded, edits, stop);
    editor.run();
    Trace<float> edited = std::move(unedited);
    edited.settings.edits = edits;
    for (const auto& [name, id] : editor.places()) {
        const auto stage =
            std::find_if(edited.stages.begin(), edited.stages.end(), [&place = id](const auto& each) { return each.id == place; });
        stage->edited = marks_of(edits, id, stage->value.shape(), stage->mask.get());
        if (const auto numbers = editor.changed().find(name); numbers != editor.changed().end())
            show(numbers->second, recorded.group, *stage);
        if (std::string why = editor.why_lost(name); !why.empty()) {
            edited.lost.push_back({id, std::move(why)});
            edited.stages.erase(stage);
        }
    }
    if (!edited.lost.empty()) edited.plan = plan_without(edited.lost, *edited.plan);
    return edited;
}

}  // namespace attn::recording
