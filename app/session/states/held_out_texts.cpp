#include "app/session/states/held_out_texts.hpp"

#include <utility>

namespace attn::app {

HeldOutTexts held_out_texts(const Dataset& dataset, TaskKind task, Batch sequences) {
    const Tokenizer& tokenizer = dataset.tokenizer();
    const std::vector<std::string>& symbols = tokenizer.vocabulary();
    return {std::move(sequences), symbols, symbols.size() - static_cast<std::size_t>(tokenizer.places()),
            task_info(task).model == Architecture::Encoder};
}

}  // namespace attn::app
