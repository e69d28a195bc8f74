#include "engine/recording/graph_check.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/io/file_error.hpp"

namespace attn::recording {
namespace {

constexpr std::size_t kMostNameBytes = 512;

bool is_usable(std::string_view name) {
    return !name.empty() && name.size() <= kMostNameBytes && name.front() != '/' && name.find('\0') == std::string_view::npos &&
           name.find("..") == std::string_view::npos;
}

/// A stage and its inputs, all by full names.
using Links = std::map<std::string, std::vector<std::string>, std::less<>>;

void add_stage(Links& links, std::string name, std::vector<std::string> inputs, std::string_view file) {
    if (!is_usable(name)) throw FileError(FileFault::Schema, file, "", "\"" + escaped(name) + "\" cannot be the name of a stage");
    const auto [place, is_new] = links.emplace(std::move(name), std::move(inputs));
    if (!is_new) throw FileError(FileFault::Duplicate, file, "", "the stage \"" + escaped(place->first) + "\" occurs twice");
}

Links links_of(const RecordedGraph& graph, std::string_view file) {
    Links links;
    const auto with_mask = [](const RecordedStage& stage, std::vector<std::string> inputs) {
        if (!stage.mask.empty()) inputs.push_back(stage.mask);
        return inputs;
    };
    for (const RecordedStage& stage : graph.around) add_stage(links, stage.name, with_mask(stage, stage.inputs), file);
    for (const RecordedAttention& attention : graph.attentions) {
        std::set<std::string_view> own;
        for (const RecordedStage& stage : attention.stages) own.insert(stage.name);
        for (const RecordedStage& stage : attention.stages) {
            std::vector<std::string> inputs;
            for (const std::string& input : stage.inputs) inputs.push_back(own.contains(input) ? attention.name + "/" + input : input);
            add_stage(links, full_name(attention, stage), with_mask(stage, std::move(inputs)), file);
        }
    }
    return links;
}

}  // namespace

// Stages whose inputs are all done are done; what is left over when nothing more can be done leads back to itself.
void expect_sound(const RecordedGraph& graph, std::string_view file) {
    const Links links = links_of(graph, file);
    std::map<std::string_view, std::size_t> open;
    std::map<std::string_view, std::vector<std::string_view>> users;
    std::vector<std::string_view> ready;
    for (const auto& [name, inputs] : links) {
        std::size_t& count = open[name];
        for (const std::string& input : inputs)
            if (const auto known = links.find(input); known != links.end()) {
                ++count;
                users[known->first].push_back(name);
            }
        if (count == 0) ready.push_back(name);
    }
    std::size_t done = 0;
    while (!ready.empty()) {
        const std::string_view name = ready.back();
        ready.pop_back();
        ++done;
        for (const std::string_view user : users[name])
            if (--open[user] == 0) ready.push_back(user);
    }
    if (done == links.size()) return;
    for (const auto& [name, count] : open)
        if (count > 0) throw FileError(FileFault::Schema, file, "", "the inputs of \"" + escaped(name) + "\" lead back to it");
}

}  // namespace attn::recording
