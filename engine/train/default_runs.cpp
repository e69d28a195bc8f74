/// A run for every task, with sizes and rates found by experiment, so that a first click gives a model that has learned something.

#include "engine/train/run_settings.hpp"

namespace attn {
namespace {

RunSettings small_decoder() {
    RunSettings run;
    run.model.architecture = Architecture::DecoderOnly;
    run.model.d_model = 64;
    run.model.num_heads = 4;
    run.model.num_layers = 2;
    run.model.d_ff = 128;
    run.model.tied_lm_head = false;
    run.model.init = Init::Gpt2;
    run.model.seed = run.seed;
    run.train.forward.masks.causal = true;
    run.train.adamw.weight_decay = 0.01;
    run.train.schedule.rate = 3e-3;
    run.train.schedule.kind = ScheduleKind::Cosine;
    run.train.schedule.warm_up_steps = 20;
    return run;
}

void set_steps(RunSettings& run, std::int64_t steps) {
    run.stop.steps = steps;
    run.train.schedule.total_steps = steps;
}

}  // namespace

RunSettings default_run(TaskKind kind) {
    RunSettings run = small_decoder();
    run.task.kind = kind;
    switch (kind) {
    case TaskKind::Copy:
    case TaskKind::Reverse:
    case TaskKind::Sort:
        run.task.shortest = 1;
        set_steps(run, 2000);
        break;
    case TaskKind::Repeat:
        run.task.shortest = 1;
        run.task.length = 12;
        run.task.symbols = 16;
        set_steps(run, 1000);
        break;
    case TaskKind::Addition:
        run.task.symbols = 41;
        run.task.validation_share = 0.2;
        run.train.adamw.weight_decay = 1;
        run.batch_size = 256;
        set_steps(run, 1500);
        break;
    case TaskKind::Bigram:
        run.task.length = 32;
        set_steps(run, 400);
        break;
    case TaskKind::Text:
        run.task.length = 64;
        set_steps(run, 800);
        break;
    case TaskKind::Sum:
        run.task.length = 3;
        set_steps(run, 1500);
        break;
    case TaskKind::Stories:
        run.task.length = 64;
        set_steps(run, 500);
        break;
    case TaskKind::FillIn:
        run.model.architecture = Architecture::Encoder;
        run.model.position = PositionKind::Rotary;
        run.model.init = Init::Transformer;
        run.train.forward.masks.causal = false;
        run.task.length = 24;
        set_steps(run, 1500);
        break;
    case TaskKind::Translate:
        run.model.architecture = Architecture::EncoderDecoder;
        run.model.num_layers = 1;
        // A single layer looks at the sentence only once. Dropout may blind any head, so all heads learn to attend to the word being
        // translated.
        run.train.forward.dropout.attention = 0.1;
        set_steps(run, 1200);
        break;
    }
    return run;
}

}  // namespace attn
