#include "app/session/facets/facets.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/facets/asked_positions.hpp"
#include "app/session/facets/changed_slice.hpp"
#include "app/session/facets/examine.hpp"
#include "app/session/facets/explanation.hpp"
#include "app/session/facets/facet_needs.hpp"
#include "app/session/facets/found_tokens.hpp"
#include "app/session/facets/head_rows.hpp"
#include "app/session/facets/likely_tokens.hpp"
#include "app/session/facets/near_tokens.hpp"
#include "app/session/facets/next_words.hpp"
#include "app/session/facets/other_tokens.hpp"
#include "app/session/facets/rollout_terms.hpp"
#include "app/session/facets/sample.hpp"
#include "app/session/facets/statistics.hpp"
#include "app/session/facets/strong_cells.hpp"
#include "app/session/facets/token_path.hpp"
#include "app/session/facets/token_search.hpp"
#include "app/session/facets/weights_beside.hpp"
#include "app/session/states/hidden_words.hpp"
#include "app/session/states/part_looked_at.hpp"
#include "engine/doctor/doctor.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/explain/explain.hpp"
#include "engine/io/file_error.hpp"
#include "engine/model/changed_map.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/near_rows.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/replaced_parts.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/value_norms.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "engine/trace/attention_totals.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn::app {
namespace {

/// Up to this size a single thread finishes before a team of threads has started, especially while the window or a training run keeps the
/// cores busy.
constexpr double kOneThreadMiB = 16;
/// From this length on, a part takes long enough to report progress.
constexpr std::int64_t kLongText = 2048;
/// More threads would starve the window and training.
constexpr int kMostThreads = 4;

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

/// Compares from the last stage backwards, because any difference nearly always shows in the last one.
bool same_stages(const Trace<float>& a, const Trace<float>& b) {
    return std::equal(a.stages.rbegin(), a.stages.rend(), b.stages.rbegin(), b.stages.rend(), [](const auto& one, const auto& other) {
        const auto left = one.value.values(), right = other.value.values();
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    });
}

bool same_numbers(const Trace<float>& a, const Trace<float>& b) {
    if (!same_stages(a, b)) return false;
    return (a.whole() && b.whole()) || a.settings == b.settings || (!edits_behind_layers(a) && !edits_behind_layers(b));
}

bool same_stage(const RecordedStage<float>& a, const RecordedStage<float>& b) {
    const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    const auto left = a.value.values(), right = b.value.values();
    return a.value.shape() == b.value.shape() && std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

/// The first stage of `a` that `b` does not have or has with other numbers.
std::optional<StageId> first_difference(const Trace<float>& a, const Trace<float>& b) {
    for (const RecordedStage<float>& stage : a.stages)
        if (const RecordedStage<float>* other = b.find(stage.id); other == nullptr || !same_stage(stage, *other)) return stage.id;
    return {};
}

void expect_to_write_on(const Trace<float>& trace) {
    const bool writes = trace.config.architecture != Architecture::Encoder && trace.config.lm_head && trace.settings.masks.causal;
    if (!writes) throw Error("only a causal model with an output head can continue a text");
    if (trace.config.architecture == Architecture::EncoderDecoder && trace.source_tokens.lengths.at(0) == 0)
        throw Error("there is nothing to translate");
    if (trace.tokens.lengths.at(0) == 0) throw Error("there is no text to continue");
}

}  // namespace

/// One overload per facet; a facet without one does not compile.
struct FacetMaker::Make {
    FacetMaker& maker;
    const StateRef& state;
    const FacetWork& work;

    const Snapshot& snapshot_of(const StateRef& of) const { return *known_snapshot(of, work.results); }  // `results` keeps it alive
    const Trace<float>& trace() const { return *snapshot_of(state).trace; }
    /// The trace, or the part of an outline that the facet needs.
    const Trace<float>& trace_for(const Facet& facet) const {
        const std::optional<facet::Inside> part = part_needed(facet, trace());
        return part ? *work.results.find(state, *part)->trace : trace();
    }
    /// Every stage; computed for this facet alone if only an outline is held.
    std::shared_ptr<const Trace<float>> whole_trace() const {
        const std::shared_ptr<const Trace<float>>& held = snapshot_of(state).trace;
        if (held->whole()) return held;
        expect_room(snapshot_of(state).whole_mib, work.room_mib);
        return std::make_shared<const Trace<float>>(
            work.engine.forward(held->parameters, held->tokens, held->source_tokens, held->settings, work.stop));
    }
    template <class T>
    FacetValue value(T made, double mib = 0) const {
        return {std::make_shared<const T>(std::move(made)), mib};
    }

    WantedOfPart wanted_of(const facet::Inside& inside, const Trace<float>& outline) const;
    /// The other stages of the part around a map, such as its queries; null if they are not available.
    const Trace<float>* part_with_queries(const StageId& id) const { return part_with_queries(state, id); }
    const Trace<float>* part_with_queries(const StateRef& of, const StageId& id) const {
        if (const auto part = part_of_map(*snapshot_of(of).trace, id)) return work.results.find(of, *part)->trace.get();
        const auto inside = work.results.find(of, inside_with(*snapshot_of(of).trace, id, {}, MapsWanted::Reduced));
        return inside ? inside->trace.get() : nullptr;
    }
    /// For maps that are held reduced: the full row at a cell's position, for every map.
    std::vector<ReducedMap> rows_of_maps(const Trace<float>& held, const CellRef& cell) const {
        std::vector<ReducedMap> rows;
        if (held.reduced.empty() || !cell.parameter.empty()) return rows;
        const std::int64_t positions = held.tokens.length, heads = held.config.num_heads;
        const attn::MapRegion row{cell.index[held.shape_of(cell.stage).rank() == 4 ? 2 : 1], 1, 0, positions, 0};
        std::vector<MapReducer> reducers;
        for (const ReducedMap& map : held.reduced) reducers.emplace_back(map.id, row, heads);
        const auto add = [&](const StageRows<float>& shown) {
            for (std::size_t i = 0; i < reducers.size(); ++i)
                if (held.reduced[i].id == shown.id) reducers[i].add(shown.value, shown.mask, shown.first);
        };
        show_map_rows(trace(), held.reduced.front().id, &held, row.first_row, 1, add, work.stop);
        for (MapReducer& reducer : reducers) rows.push_back(reducer.take());
        return rows;
    }
    /// Two passes over the rows, as for recorded stages.
    TensorStatistics statistics_of_parameter(const facet::Statistics& facet) const {
        const Parameters<float>* parameters =
            facet.gradients ? work.results.find(state, facet::Gradients{})->parameters.get() : trace().parameters.get();
        const ParameterPlace place = parameters == nullptr ? ParameterPlace{} : parameters->layout().place(facet.parameter);
        const MatrixView numbers = place.whole == nullptr ? MatrixView{} : parameters->view(place);
        if (!numbers) throw Error("there are no numbers of " + facet.parameter);
        return statistics_of(numbers);
    }

    TensorStatistics statistics_in_rows(const facet::Statistics& facet) const {
        if (!is_attention_map(facet.stage.stage)) throw Error("there are no numbers of " + tensor_name(facet.stage));
        StatisticsSums sums;
        for (int pass = 0; pass < StatisticsSums::kPasses; ++pass) {
            const auto add = [&](const StageRows<float>& shown) {
                if (shown.id != facet.stage) return;
                const std::int64_t rows = shown.value.shape()[2].size, keys = shown.value.shape()[3].size;
                sums.add({shown.value.data() + *facet.head * rows * keys, rows, keys, keys,
                          shown.mask == nullptr ? nullptr : shown.mask->keep_row(0, 0, 0)});
            };
            show_map_rows(trace(), facet.stage, part_with_queries(facet.stage), 0, trace().tokens.length, add, work.stop);
            sums.end_pass();
        }
        return sums.take();
    }

    ReducedMap changed_map(const facet::MapRegion& facet) const {
        attn::MapChange change;
        change.without_first_key = facet.change.without_first_key;
        if (facet.change.norm_weighted) change.norms = work.results.find(state, facet::ValueNorms::of(facet.stage)).value.get();
        if (const StateRef& other = facet.change.minus; other != nullptr) {
            const StageId& id = facet.change.minus_stage;
            change.minus.emplace(MapOfOutline{*snapshot_of(other).trace, id, part_with_queries(other, id)});
            change.minus_head = facet.change.minus_head;
        }
        return region_of_changed_map({trace(), facet.stage, part_with_queries(facet.stage)}, facet.region, change, facet.head, work.stop);
    }

    /// A stage's numbers for one sequence and head, or for the mean over its heads.
    NumberGrid grid_of(const StateRef& of, const facet::ChangedSlice& slice) const {
        const Trace<float>& all = *snapshot_of(of).trace;
        const Trace<float>& held = slice.part && !all.whole() ? *work.results.find(of, *slice.part)->trace : all;
        const RecordedStage<float>* stage = slice.head < 0 ? held.find(slice.stage) : held.find(slice.stage, slice.head);
        if (stage == nullptr || stage->value.empty()) throw Error("there are no numbers of " + tensor_name(slice.stage));
        if (slice.sequence >= stage->value.shape()[0].size) throw Error("there is no such sequence");
        NumberGrid grid = NumberGrid::of(*stage, slice.sequence, std::max<std::int64_t>(slice.head, 0));
        if (slice.head < 0)
            grid.values = work.results.find(of, facet::HeadMean{slice.stage, slice.part})->data() + slice.sequence * grid.rows * grid.cols;
        return grid;
    }
    ChangedSlice changed_slice(const facet::ChangedSlice& facet) const {
        const NumberGrid grid = grid_of(state, facet);
        if (facet.row_sums) return slice_row_sums(grid);
        if (facet.change.minus != nullptr) {
            const NumberGrid other = grid_of(facet.change.minus, subtracted_slice(facet));
            if (grid.rows != other.rows || grid.cols != other.cols) throw Error("the two states have different shapes");
            return slice_difference(grid, other, has_probabilities(facet.stage.stage));
        }
        const auto moved = [&](const NumberGrid& weights) {
            const auto norms = work.results.find(state, facet::ValueNorms::of(facet.stage));
            return norm_weighted_slice(weights, norms_of_head(*norms, facet.sequence, facet.head));
        };
        if (!facet.change.without_first_key) return moved(grid);
        ChangedSlice rest = slice_without_first_key(grid);
        return facet.change.norm_weighted ? moved({rest.values.data(), grid.rows, grid.cols, grid.cols, rest.keep.data()}) : rest;
    }

    std::int64_t positions_of(const StateRef& of, Stack stack) const {
        const Trace<float>& all = *snapshot_of(of).trace;
        return (stack == Stack::Encoder ? all.source_tokens : all.tokens).length;
    }
    ChangedSlice slice_of(const StateRef& of, const facet::TotalsSlice& facet, const facet::TotalsSlice::Place& at) const {
        const AttentionTotals* totals = work.results.find(of, facet::Totals{})->of(at.stack);
        if (totals == nullptr) throw Error("that state has no attention of this kind");
        return slice_of_totals({*snapshot_of(of).trace, *totals, facet.rollout, at.layer, at.sequence});
    }

    FacetValue operator()(const facet::Trace&) const;
    FacetValue operator()(const facet::Beginning& beginning) const;
    FacetValue operator()(const facet::Inside& inside) const;
    BegunPass begin(const std::optional<StageId>& before) const;
    Snapshot completed(const BegunPass& begun) const;
    std::shared_ptr<const Trace<float>> nearest_outline(const std::shared_ptr<const Parameters<float>>& parameters,
                                                        const ForwardSettings& settings, const TokenBatch& tokens) const;
    std::function<void(double)> told_in_percent() const;
    Trace<float> computed(const Prepared& prepared, std::shared_ptr<const Parameters<float>> parameters, const ForwardSettings& settings,
                          const std::optional<StageId>& before) const;
    FacetValue operator()(const facet::Sample& sample) const;
    FacetValue operator()(const facet::HeadRows& rows) const;

    FacetValue operator()(const facet::Gradients&) const {
        if (!trace().config.lm_head)
            throw Error("there are no gradients: a model without an output head predicts nothing, so it has no loss");
        const double mib = snapshot_of(state).whole_mib;
        expect_room(2 * mib, work.room_mib);  // the backward pass first records the forward pass again
        std::vector<std::int32_t> targets = shown_targets(trace().config, trace().tokens);
        const std::vector<std::uint8_t> shown = shown_here();
        for (std::size_t at = 0; at < shown.size(); ++at)
            if (shown[at] == 0) targets[at] = kIgnoredTarget;
        return value(work.engine.gradients(trace(), targets, work.stop), mib);
    }
    /// For a model that fills in words, [B,T]: 0 where one is hidden, so that no word there is known to be right. Empty for others.
    std::vector<std::uint8_t> shown_here() const {
        if (trace().config.architecture != Architecture::Encoder) return {};
        std::vector<std::uint8_t> shown = shown_positions(*state->setup, snapshot_of(state).tokens);
        if (shown.size() != trace().tokens.ids.size()) shown.clear();
        return shown;
    }
    FacetValue operator()(const facet::Lens&) const {
        const std::vector<std::uint8_t> shown = shown_here();
        const auto told = [&](LensReading reading) {
            if (!reading.lens) return reading;
            for (std::size_t i = 0; !shown.empty() && i < reading.lens->cells.size(); ++i)
                if (LensCell& cell = reading.lens->cells[i]; shown[i % shown.size()] == 0)
                    cell.next = -1, cell.next_probability = 0, cell.next_rank = 0;
            reading.losses = lens_losses(*reading.lens, snapshot_of(state).asked);
            reading.first_choices = lens_first_choices(*reading.lens);
            return reading;
        };
        const auto tell = [&](const LensReading& so_far, std::size_t done, std::size_t total) {
            work.progress(done, total, std::make_shared<const LensReading>(told(so_far)));
        };
        LensReading reading = told(work.engine.lens(snapshot_of(state).trace, work.stop, tell));
        reading.serial = next_serial();
        const double mib = mib_of(reading);
        return value(std::move(reading), mib);
    }
    FacetValue operator()(const facet::Totals&) const {
        expect_room(mib_of_totals(trace()), work.room_mib);
        const auto tell = [&](std::size_t done, std::size_t total) { work.progress(done, total, nullptr); };
        TotalsReading reading = work.engine.totals(snapshot_of(state).trace, work.stop, tell);
        reading.serial = next_serial();
        const double mib = mib_of(reading);
        return value(std::move(reading), mib);
    }
    FacetValue operator()(const facet::Verification& facet) const {
        // The user or a training run needs the other cores.
        set_thread_budget(std::max(1, maker.threads_ / 2));
        const bool of_part = facet.part && !trace().whole() && trace().plan->find(*facet.part) != nullptr;
        return value(of_part ? work.engine.verify_part(snapshot_of(state).trace, *facet.part, work.stop)
                             : work.engine.verify(trace(), work.stop));
    }
    FacetValue operator()(const facet::Doctor&) const {
        const bool at_once = trace().whole() || is_tested_for_future(trace());
        expect_to_be_judged(trace());
        expect_room(mib_to_examine(trace(), at_once), work.room_mib);
        return value(work.engine.examine(at_once ? whole_trace() : snapshot_of(state).trace, work.stop));
    }
    FacetValue operator()(const facet::KnockOut& facet) const {
        if (!trace().whole() && !knocks_out_in_rows(trace()))
            expect_room(trace_size(trace().config, static_cast<double>(trace().tokens.size()), static_cast<double>(trace().tokens.length),
                                   static_cast<double>(trace().source_tokens.length))
                            .part,
                        work.room_mib);
        set_thread_budget(1);  // takes long, so leave the cores to the window and to training
        const auto tell = [&](const KnockOut& so_far, std::size_t done) {
            work.progress(done, so_far.parts.size(), std::make_shared<const KnockOut>(so_far));
        };
        return value(work.engine.knock_out(trace(), facet.question, tell, work.stop));
    }
    FacetValue operator()(const facet::NextWords& next) const {
        return value(next_words(snapshot_of(state), next.sequence, next.sampling, next.position));
    }
    FacetValue operator()(const facet::FirstDifference& facet) const {
        return value(first_difference(trace(), *snapshot_of(facet.other).trace));
    }
    FacetValue operator()(const facet::SameNumbers& facet) const { return value(same_numbers(trace(), *snapshot_of(facet.other).trace)); }
    FacetValue operator()(const facet::Explanation& facet) const {
        const Trace<float>& held = trace_for(facet);
        const std::vector<ReducedMap> rows = rows_of_maps(held, facet.cell);
        Provenance provenance = explain(held, facet.cell, rows);
        ListedTerms listed = listed_terms(provenance);
        return value(app::Explanation{facet.cell, std::move(provenance), std::move(listed), where_it_goes(held, facet.cell, rows),
                                      likely_tokens(held, facet.cell)});
    }
    FacetValue operator()(const facet::HeadMean& facet) const {
        const RecordedStage<float>* stage = trace_for(facet).find(facet.stage);
        if (stage == nullptr) throw Error("this model has no stage " + tensor_name(facet.stage));
        return value(head_mean(*stage));
    }
    FacetValue operator()(const facet::ValueNorms& facet) const { return value(value_norms(trace_for(facet), facet.weights)); }
    FacetValue operator()(const facet::Statistics& facet) const {
        if (!facet.parameter.empty()) return value(statistics_of_parameter(facet));
        if (facet.head && *facet.head < 0) {
            const NumberGrid mean =
                grid_of(state, {.stage = facet.stage, .sequence = facet.sequence.value_or(0), .head = *facet.head, .part = facet.part});
            return value(statistics_of(std::span(&mean, 1)));
        }
        if (facet.head && !facet.part && !facet.gradients && !trace().whole()) return value(statistics_in_rows(facet));
        const Trace<float>& held = facet.part && !trace().whole() ? *work.results.find(state, *facet.part)->trace : trace_for(facet);
        const RecordedStage<float>* stage = facet.gradients ? work.results.find(state, facet::Gradients{})->find(facet.stage)
                                            : facet.head    ? held.find(facet.stage, *facet.head)
                                                            : held.find(facet.stage);
        if (stage == nullptr || stage->value.empty()) throw Error("there are no numbers of " + tensor_name(facet.stage));
        if (facet.sequence && (*facet.sequence < 0 || *facet.sequence >= stage->value.shape()[0].size))
            throw Error("there is no such sequence");
        return value(statistics_of(*stage, facet.sequence, facet.head));
    }
    FacetValue operator()(const facet::MapRegion& facet) const {
        const double mib = 4e-6 * static_cast<double>(facet.region.block_rows() * facet.region.block_cols()) *
                           static_cast<double>(facet.head ? 1 : trace().config.num_heads + 1);
        expect_room(mib, work.room_mib);
        if (facet.change != facet::MapChange{}) return value(changed_map(facet), mib);
        return value(work.engine.region(trace(), facet.stage, facet.region, part_with_queries(facet.stage), facet.head, work.stop), mib);
    }
    FacetValue operator()(const facet::ChangedSlice& facet) const {
        const Shape shape = trace().shape_of(facet.stage);
        const std::int64_t cells = shape[shape.rank() - 2].size * (facet.row_sums ? 1 : shape[shape.rank() - 1].size);
        expect_room(static_cast<double>(cells) * (sizeof(float) + sizeof(std::uint8_t)) / (1024.0 * 1024.0), work.room_mib);
        ChangedSlice made = changed_slice(facet);
        const auto numbers = static_cast<double>(made.values.size() * sizeof(float) + made.keep.size());
        return value(std::move(made), numbers / (1024.0 * 1024.0));
    }
    FacetValue operator()(const facet::StrongCells& facet) const {
        StrongestCells strongest(facet.most);
        for (const std::int64_t head : facet.heads) {
            if (work.stop.stop_requested()) throw Cancelled();
            strongest.add(head, grid_of(state, {.stage = facet.stage, .sequence = facet.sequence, .head = head, .part = facet.part}));
        }
        StrongCells found = strongest.take();
        const auto bytes = static_cast<double>(found.cells.size() * sizeof(MapCell));
        return value(std::move(found), bytes / (1024.0 * 1024.0));
    }
    FacetValue operator()(const facet::RolloutTerms& facet) const {
        const auto reading = work.results.find(state, facet::Totals{});
        const AttentionTotals* totals = reading->of(facet.at.stack);
        if (totals == nullptr) throw Error("this state has no attention of this kind");
        RolloutTerms terms = rollout_terms(*totals, facet.at.layer, facet.at.sequence, facet.query, facet.key);
        terms.readings = reading->serial;
        return value(std::move(terms));
    }
    FacetValue operator()(const facet::TotalsSlice& facet) const {
        const std::int64_t positions = positions_of(state, facet.at.stack);
        const double slices = facet.minus == nullptr ? 1 : 3, bytes = sizeof(float) + sizeof(std::uint8_t);
        expect_room(slices * bytes * static_cast<double>(positions * positions) / (1024.0 * 1024.0), work.room_mib);
        ChangedSlice made = slice_of(state, facet, facet.at);
        if (facet.minus != nullptr) {
            if (positions_of(facet.minus, facet.minus_at.stack) != positions) throw Error("the two states have texts of different lengths");
            made = slice_difference(made.grid(positions), slice_of(facet.minus, facet, facet.minus_at).grid(positions), true);
        }
        const auto numbers = static_cast<double>(made.values.size() * sizeof(float) + made.keep.size());
        return value(std::move(made), numbers / (1024.0 * 1024.0));
    }
    FacetValue operator()(const facet::TokenPath& path) const { return value(token_path(*state->setup, path.text, maker.tokenizer_)); }
    FacetValue operator()(const facet::NearTokens& facet) const {
        const PlanNode& node = trace().plan->at({Stage::TokenEmbedding, -1, facet.stack});
        const auto& vocabulary = snapshot_of(state).vocabulary;
        app::NearTokens tokens;
        for (const NearRow& near : near_rows(trace().parameters->view(node.weight.name), facet.id, kMostNearTokens, work.stop)) {
            const auto at = static_cast<std::size_t>(near.row);
            tokens.nearest.push_back({static_cast<std::int32_t>(near.row), at < vocabulary.size() ? vocabulary[at] : "", near.cosine});
        }
        return value(std::move(tokens));
    }
    FacetValue operator()(const facet::FoundTokens& facet) const {
        return value(app::FoundTokens{tokens_with(snapshot_of(state).vocabulary, facet.text, kMostFoundTokens)});
    }
    FacetValue operator()(const facet::OtherTokens& facet) const {
        const std::shared_ptr<const ModelTokenizer> other = maker.tokenizer_of(facet);
        const std::filesystem::path path = facet.file;
        const bool by_itself = path.filename() == "tokenizer.json" || path.filename() == "vocab.txt";
        const std::string named = by_itself ? model_name(path.parent_path()) + "/" + path.filename().string() : model_name(path);
        return value(other_tokens(*state->setup, facet.text, maker.tokenizer_, *other, named));
    }
    FacetValue operator()(const facet::WeightsBeside& facet) const {
        const auto tell = [&](const app::WeightsBeside& so_far, std::size_t total) {
            work.progress(so_far.errors.parameters.size(), total, std::make_shared<const app::WeightsBeside>(so_far));
        };
        return value(weights_beside(*facet.model, facet.other, tell, work.stop));
    }
    FacetValue operator()(const facet::WeightErrors& facet) const {
        return value(error_map_beside(*facet.model, *facet.other, facet.parameter, work.stop));
    }
    FacetValue operator()(const facet::WeightNumbers& facet) const {
        return value(numbers_beside(*facet.model, *facet.other, facet.parameter, facet.row, facet.column));
    }
    FacetValue operator()(const facet::Dump& dump) const {
        DoctorReport report;
        report.file = dump.file;
        try {
            report.diagnosis = doctor::examine_file(dump.file, work.stop);
        } catch (const std::bad_alloc&) {
            throw Error("there is not enough memory for this file");
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            throw Error(escaped(error.what(), 0));
        }
        return value(std::move(report));
    }
};

/// The known outline that has most positions in common with a text; null if none has any.
std::shared_ptr<const Trace<float>> FacetMaker::Make::nearest_outline(const std::shared_ptr<const Parameters<float>>& parameters,
                                                                      const ForwardSettings& settings, const TokenBatch& tokens) const {
    std::shared_ptr<const Trace<float>> nearest;
    std::int64_t most = 0;
    for (const auto& known : work.results.all(facet::Trace{})) {
        const std::shared_ptr<const Trace<float>>& trace = known->trace;
        if (trace->whole() || trace->parameters != parameters || trace->settings != settings) continue;
        if (const std::int64_t kept = positions_kept(*trace, tokens); kept > most) nearest = trace, most = kept;
    }
    return nearest;
}

/// Reuses the known trace of a state that differs only in its edits or in the end of its text. An outline may end before a part.
Trace<float> FacetMaker::Make::computed(const Prepared& prepared, std::shared_ptr<const Parameters<float>> parameters,
                                        const ForwardSettings& settings, const std::optional<StageId>& before) const {
    const Computation& engine = work.engine;
    ForwardSettings plain = settings;
    for (const auto& known : work.results.all(facet::Trace{})) {
        const std::shared_ptr<const Trace<float>>& trace = known->trace;
        plain.edits = trace->settings.edits;
        if (trace->parameters != parameters || trace->settings != plain || trace->whole() != prepared.whole) continue;
        if (trace->tokens == prepared.tokens && trace->source_tokens == prepared.source)
            return engine.edited(trace, settings.edits, work.stop);
    }
    if (prepared.whole) return engine.forward(std::move(parameters), prepared.tokens, prepared.source, settings, work.stop);
    if (const auto nearest = nearest_outline(parameters, settings, prepared.tokens))
        return engine.continued(*nearest, prepared.tokens, before, work.stop);
    OutlineLimits limits{prepared.size.attended, 0, before, {}};
    if (prepared.tokens.length >= kLongText) limits.progress = told_in_percent();
    return engine.outline(std::move(parameters), prepared.tokens, prepared.source, settings, limits, work.stop);
}

/// For a pass that tells the share that is done from several threads.
std::function<void(double)> FacetMaker::Make::told_in_percent() const {
    return [this, told = std::make_shared<std::atomic<int>>(0)](double share) {
        const int percent = std::clamp(static_cast<int>(100 * share), 0, 100);
        int before = *told;
        while (before < percent)
            if (told->compare_exchange_weak(before, percent)) return work.progress(static_cast<std::size_t>(percent), 100, nullptr);
    };
}

BegunPass FacetMaker::Make::begin(const std::optional<StageId>& before) const {
    const Setup& setup = *state->setup;
    Prepared prepared = prepare(setup, work.room_mib, &maker.tokenizer_);
    maker.use_threads_for(prepared.size.whole + prepared.size.weights);
    BegunPass pass;
    Snapshot& made = pass.snapshot;
    made.state = state;
    if (const MomentOfRun* moment = moment_of(*state)) {
        made.run = moment->run;
        made.trained_step = moment->step;
    }
    try {
        std::shared_ptr<const Parameters<float>> parameters = maker.parameters_of(*state, prepared.config, work.engine);
        const auto start = std::chrono::steady_clock::now();
        made.trace = std::make_shared<const attn::Trace<float>>(computed(prepared, std::move(parameters), setup.forward, before));
        made.compute_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field_at_fault(setup.forward));
    }
    if (made.trace->whole()) made.ranges = stage_ranges(*made.trace);
    made.head_scores = head_scores(*made.trace);
    made.edits_in_vain = edits_in_vain(*made.trace);
    made.tokens = std::move(prepared.chips);
    made.source_tokens = std::move(prepared.source_chips);
    made.asked = asked_positions(*state, made.tokens, static_cast<std::size_t>(made.trace->tokens.length));
    made.vocabulary = std::move(prepared.vocabulary);
    made.whole_mib = prepared.size.whole + prepared.size.weights;
    made.budget_mib = work.budget_mib;
    made.serial = next_serial();
    pass.attended = prepared.size.attended;
    pass.mib = prepared.size.parameters + (prepared.whole ? prepared.size.whole : prepared.size.outline);
    return pass;
}

Snapshot FacetMaker::Make::completed(const BegunPass& begun) const {
    Snapshot made = begun.snapshot;
    const std::shared_ptr<const attn::Trace<float>> trace = made.trace;
    if (trace->whole() || is_complete(*trace)) return made;
    const auto start = std::chrono::steady_clock::now();
    const auto nearest = nearest_outline(trace->parameters, trace->settings, trace->tokens);
    made.trace = std::make_shared<const attn::Trace<float>>(work.engine.completed(trace, begun.attended, nearest.get(), work.stop));
    made.compute_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return made;  // with the same serial: the stages that the beginning has are the same
}

FacetValue FacetMaker::Make::operator()(const facet::Trace&) const {
    if (const std::shared_ptr<const Fact> begun = work.results.begun(state))
        return value(completed(*Results::answer<facet::Beginning>(begun.get())), begun->mib);
    BegunPass pass = begin({});
    const double mib = pass.mib;
    return value(std::move(pass.snapshot), mib);
}

FacetValue FacetMaker::Make::operator()(const facet::Beginning& beginning) const {
    BegunPass pass = begin(beginning.before);
    const double mib = pass.mib;
    return value(std::move(pass), mib);
}

/// A whole part continues the part of the known text that has the longest common prefix.
WantedOfPart FacetMaker::Make::wanted_of(const facet::Inside& inside, const Trace<float>& outline) const {
    if (inside.maps_alone) return MapsAlone{stages_of(inside, outline), inside.level};
    std::optional<std::vector<StageId>> stages;
    if (inside.map || inside.half) stages = stages_of(inside, outline);
    if (inside.level) return ReducedPart{*inside.level, std::move(stages)};
    if (stages || inside.head) return NumbersOfPart{std::move(stages), inside.head};
    WholePart whole;
    std::int64_t most = 0;
    for (const auto& known : work.results.all(inside)) {
        const std::shared_ptr<const Trace<float>>& other = known->trace;
        if (other->parameters != outline.parameters || other->settings != outline.settings) continue;
        if (const std::int64_t kept = positions_kept(*other, outline.tokens); kept > most) whole.before = other, most = kept;
    }
    return whole;
}

FacetValue FacetMaker::Make::operator()(const facet::Inside& inside) const {
    const std::shared_ptr<const Snapshot> outline = known_snapshot(state, work.results);
    if (outline->trace->whole()) return {outline, 0};
    const double mib = mib_of(inside, *outline->trace);
    expect_room(mib_to_compute(inside, *outline->trace), work.room_mib);
    PartInRows in_rows;
    if (outline->trace->tokens.length >= kLongText)
        in_rows.progress = [&](std::int64_t done, std::int64_t all) {
            work.progress(static_cast<std::size_t>(done), static_cast<std::size_t>(all), nullptr);
        };
    Snapshot made = *outline;
    LookedAtPart part = work.engine.inside(outline->trace, inside.first, wanted_of(inside, *outline->trace), in_rows, work.stop);
    made.trace = std::make_shared<const Trace<float>>(std::move(part.trace));
    made.ranges = std::move(part.ranges);
    made.head_scores = std::move(part.head_scores);
    made.edits_in_vain = edits_in_vain(*made.trace);
    made.serial = next_serial();
    return value(std::move(made), mib);
}

FacetValue FacetMaker::Make::operator()(const facet::Sample& facet) const {
    expect_to_write_on(trace());
    const Snapshot& snapshot = snapshot_of(state);
    app::Sample sample;
    sample.trained_step = snapshot.trained_step;
    const bool spaced = state->setup->model == nullptr && state->setup->tokenizer == TokenizerKind::Word;
    for (const std::int32_t id : work.engine.sample(trace(), facet.sampling, work.stop)) {
        const std::string& symbol = snapshot.vocabulary.at(static_cast<std::size_t>(id));
        if (spaced) sample.text += ' ';
        sample.text += symbol;
        sample.tokens.push_back({symbol, id, false, false});
    }
    return value(std::move(sample));
}

// Of an outline, computes only the row; if maps cannot be computed in rows, computes one map after the other.
FacetValue FacetMaker::Make::operator()(const facet::HeadRows& facet) const {
    const std::shared_ptr<const Trace<float>>& held = snapshot_of(state).trace;
    const bool in_rows = !held->whole() && can_compute_in_rows(*held);
    const auto rows_of = [&](const StageId& id) {
        if (in_rows) {
            const attn::MapRegion row{facet.position, 1, 0, held->shape_of(id)[3].size, 0};
            return work.engine.region(*held, id, row, nullptr, {}, work.stop).values;
        }
        facet::Inside inside = inside_with(*held, id);
        inside.map = id.stage;
        expect_room(mib_to_compute(inside, *held), work.room_mib);
        LookedAtPart part = work.engine.inside(held, id, NumbersOfPart{std::vector{id}}, {}, work.stop);
        for (RecordedStage<float>& stage : part.trace.stages)
            if (stage.id == id) return std::move(stage.value);
        throw Error("this model has no stage " + tensor_name(id));
    };
    return value(head_rows(*held, facet.sequence, facet.position, rows_of));
}

namespace {

void expect_intact_model(const StateRef& state) {
    if (state != nullptr && state->setup->model != nullptr) state->setup->model->require_intact();
}

/// Throws FileError if the file of a model that the request reads became shorter, so that what was computed from it is worthless.
void expect_intact_models(const Request& request) {
    expect_intact_model(request.state);
    std::visit(
        [](const auto& facet) {
            if constexpr (requires { facet.minus; }) expect_intact_model(facet.minus);
            if constexpr (requires { facet.change.minus; }) expect_intact_model(facet.change.minus);
        },
        request.facet);
}

}  // namespace

int threads_for(double mib, int available) { return mib <= kOneThreadMiB ? 1 : std::min(available, kMostThreads); }

void FacetMaker::use_threads_for(double mib) const { set_thread_budget(threads_for(mib, threads_)); }

std::shared_ptr<const ModelTokenizer> FacetMaker::tokenizer_of(const facet::OtherTokens& facet) {
    if (other_tokenizer_ == nullptr || other_file_ != facet.file || other_opening_ != facet.opening) {
        other_tokenizer_ = nullptr;
        other_tokenizer_ = read_tokenizer(facet.file);
        other_file_ = facet.file;
        other_opening_ = facet.opening;
    }
    return other_tokenizer_;
}

FacetValue FacetMaker::make(const Request& request, const FacetWork& work) {
    if (request.state != nullptr)
        if (const auto snapshot = known_snapshot(request.state, work.results)) use_threads_for(snapshot->whole_mib);
    FacetWork checked = work;
    checked.progress = [&](std::size_t done, std::size_t total, std::shared_ptr<const void> so_far) {
        if (so_far != nullptr) expect_intact_models(request);
        work.progress(done, total, std::move(so_far));
    };
    FacetValue made;
    try {
        made = std::visit(Make{*this, request.state, checked}, request.facet);
    } catch (const Cancelled&) {
        throw;
    } catch (...) {
        expect_intact_models(request);  // if they are not, that explains any other error
        throw;
    }
    expect_intact_models(request);
    return made;
}

std::shared_ptr<const Parameters<float>> FacetMaker::parameters_of(const State& state, const Config& config, const Computation& engine) {
    if (const MomentOfRun* moment = moment_of(state)) {
        if (moment->parameters == nullptr)
            throw DocumentError(is_missing(moment->run) ? "the training run of this model could not be opened: open its folder"
                                                        : "the model of that training run no longer exists",
                                Field::None);
        if (moment->parameters->config() != config) throw DocumentError("these settings differ from the trained model's", Field::None);
        return moment->parameters;
    }
    if (state.setup->model != nullptr) return state.setup->model->parameters();
    if (state.setup->shipped != nullptr) {
        const auto& shipped = state.setup->shipped->checkpoint.parameters;
        if (shipped->config() != config) throw DocumentError("these settings differ from the trained model's", Field::None);
        return shipped;
    }
    if (drawn_ == nullptr || drawn_->config() != config)
        drawn_ = std::make_shared<const Parameters<float>>(engine.parameters(config, drawn_.get()));
    return drawn_;
}

}  // namespace attn::app
