#include "engine/recording/stage_order.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace attn::recording {
namespace {

LinkedStage linked(const RecordedGraph& graph, std::size_t attention, std::size_t place) {
    const RecordedAttention& owner = graph.attentions[attention];
    const RecordedStage& stage = owner.stages[place];
    LinkedStage made{&stage, attention, place, full_name(owner, stage)};
    for (const std::string& input : stage.inputs) {
        const RecordedStage* own = owner.find(input);
        made.reads.push_back(own == nullptr ? input : full_name(owner, *own));
    }
    return made;
}

std::vector<LinkedStage> all_stages(const RecordedGraph& graph) {
    std::vector<LinkedStage> all;
    for (const RecordedStage& around : graph.around) all.push_back({&around, {}, 0, around.name, around.inputs});
    for (std::size_t attention = 0; attention < graph.attentions.size(); ++attention)
        for (std::size_t place = 0; place < graph.attentions[attention].stages.size(); ++place)
            all.push_back(linked(graph, attention, place));
    for (LinkedStage& each : all)
        if (!each.stage->mask.empty()) each.reads.push_back(each.stage->mask);
    return all;
}

/// For each stage the places of those that read it.
std::vector<std::vector<std::size_t>> readers_of(const std::vector<LinkedStage>& all) {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) places.emplace(all[i].name, i);
    std::vector<std::vector<std::size_t>> readers(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const std::string& name : all[i].reads)
            if (const auto read = places.find(name); read != places.end()) readers[read->second].push_back(i);
    return readers;
}

/// Places, inputs first. A graph that was read has no stage that leads back to itself.
std::vector<std::size_t> order_of(const std::vector<std::vector<std::size_t>>& readers) {
    std::vector<std::size_t> open(readers.size(), 0), order;
    for (const std::vector<std::size_t>& of_one : readers)
        for (const std::size_t reader : of_one) ++open[reader];
    for (std::size_t i = 0; i < open.size(); ++i)
        if (open[i] == 0) order.push_back(i);
    for (std::size_t next = 0; next < order.size(); ++next)
        for (const std::size_t reader : readers[order[next]])
            if (--open[reader] == 0) order.push_back(reader);
    return order;
}

}  // namespace

std::vector<LinkedStage> stages_in_order(const RecordedGraph& graph) {
    std::vector<LinkedStage> all = all_stages(graph);
    const std::vector<std::vector<std::size_t>> readers = readers_of(all);
    const std::vector<std::size_t> order = order_of(readers);
    for (std::size_t i = order.size(); i-- > 0;) {
        std::optional<std::size_t>& first = all[order[i]].first_reader;
        first = all[order[i]].attention;
        for (const std::size_t reader : readers[order[i]])
            if (const auto& other = all[reader].first_reader; other && (!first || *other < *first)) first = other;
    }
    std::vector<LinkedStage> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) sorted.push_back(std::move(all[i]));
    return sorted;
}

}  // namespace attn::recording
