#!/usr/bin/env python3
"""Makes the inputs that fuzzing starts from: small files as the program and NumPy write them.

usage: make_seeds.py ATTNSCOPE [FOLDER]

Every target NAME_fuzz.cpp takes FOLDER/NAME_fuzz (beside this script by default).
"""

import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LONGEST = 65536  # what dev fuzz gives to libFuzzer as -max_len


def safetensors(arrays, metadata=None):
    names = {np.dtype('f4'): 'F32', np.dtype('f8'): 'F64', np.dtype('f2'): 'F16', np.dtype('i8'): 'I64', np.dtype('i4'): 'I32', np.dtype('?'): 'BOOL'}
    header, data = {}, b''
    if metadata:
        header['__metadata__'] = metadata
    for name, array in arrays.items():
        bytes_ = np.ascontiguousarray(array).tobytes()
        header[name] = {'dtype': names[array.dtype], 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + data


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def npz(arrays, packed):
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(np.float32)


def recorded(mistake=None):
    """One attention as other programs record it."""
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((1, 2, 4, 4), dtype=np.float32) for _ in range(3))
    scores = q @ k.transpose(0, 1, 3, 2) / np.float32(1 if mistake == 'no_scale' else 2)
    keep = np.tril(np.ones((4, 4), bool))
    weights = softmax(np.where(keep, scores, np.float32(-1e9)), -2 if mistake == 'softmax_over_queries' else -1)
    return {'q': q, 'k': k, 'v': v, 'scores': scores, 'weights': weights, 'context': weights @ v, 'mask': keep}


class Seeds:
    def __init__(self, app, folder, scratch):
        self.app, self.folder, self.scratch = app, folder, scratch

    def add(self, target, name, content):
        content = content.encode() if isinstance(content, str) else content
        if len(content) > LONGEST:
            raise SystemExit(f'{target}/{name} has {len(content)} bytes: libFuzzer would cut it')
        path = self.folder / f'{target}_fuzz' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def run(self, *arguments):
        subprocess.run([self.app, *arguments], check=True, stdout=subprocess.DEVNULL)

    def document(self, name, **fields):
        document = {'format': 'attnscope-document/1', 'texts': ['a b a'], 'tokenizer': 'word', 'special_tokens': True}
        document.update(fields)
        text = json.dumps(document)
        self.add('document', name, text)
        self.add('any_file', 'document_' + name, b'\x02' + text.encode())
        path = self.scratch / (name + '.json')
        path.write_text(text)
        return path

    def documents(self):
        small = {'d_model': 4, 'num_heads': 2, 'num_layers': 1, 'd_ff': 4}
        whole = dict(small, architecture='decoder_only', norm='pre', residual=True, feed_forward=True, final_norm=True, lm_head=True,
                     output_projection=True, position='learned', activation='gelu_tanh', init='gpt2', qkv_bias=True, output_bias=True)
        edits = [{'kind': 'set', 'stage': 'layers.0.attention.scores', 'head': 0, 'row': 1, 'column': 0, 'value': 2.5},
                 {'kind': 'scale', 'stage': 'layers.0.attention.context', 'head': 1, 'value': 0},
                 {'kind': 'freeze', 'stage': 'layers.0.attention.weights', 'head': 1, 'pattern': 'previous'},
                 {'kind': 'take_row', 'stage': 'layers.0.attention.q', 'row': 1, 'from': 2, 'on': False}]
        masks = {'causal': True, 'padding': True, 'window': 2, 'prefix': 1, 'block': 2, 'painted': [[0, 1]]}
        self.traced = [
            self.document('plain', config=small),
            self.document('gpt', config=whole, texts=['a b', 'c'], forward={'masks': masks, 'temperature': 0.5}),
            self.document('edits', config=whole, forward={'masks': {'causal': True}, 'edits': edits}),
            self.document('mistake', config=small, forward={'masks': {'causal': True}, 'mistake': 'softmax_over_queries'}),
            self.document('dropout', config=whole, forward={'dropout': {'attention': 0.5, 'residual': 0.1, 'embedding': 0.1, 'seed': 3}}),
        ]
        self.document('both_stacks', config=dict(small, architecture='encoder_decoder', norm='post', position='sinusoidal', init='transformer'),
                      texts=['a b'], source_texts=['b c'])
        self.document('training', config=small, tokenizer='character', trained={'run': 1, 'step': 20},
                      vocabulary=['<pad>', '<unk>', 'a', 'b'], vocabulary_texts=['ab'],
                      sampling={'temperature': 0.8, 'top_k': 3, 'top_p': 0.9, 'tokens': 5, 'seed': 1},
                      run={'task': {'kind': 'text', 'length': 8, 'text_name': 'own.txt'}, 'stop': {'steps': 10, 'loss': 0.5},
                           'train': {'schedule': {'kind': 'cosine', 'rate': 0.01}, 'adamw': {'beta1': 0.9}}}, task_text='abab' * 20)
        for path in sorted((ROOT / 'assets/presets').glob('*.json')):
            fields = json.loads(path.read_text())
            for key in ('name', 'title', 'order'):
                fields.pop(key)
            self.document('preset_' + path.stem, **fields)

    def traces(self):
        for path in self.traced:
            out = self.scratch / 'trace.safetensors'
            self.run('trace', '--document', str(path), '--out', str(out))
            self.add('doctor', 'trace_' + path.stem, out.read_bytes())
        for mistake in (None, 'no_scale', 'softmax_over_queries'):
            arrays = recorded(mistake)
            self.add('doctor', f'recorded_{mistake}', safetensors(arrays, {'num_heads': '2', 'causal': 'true'}))
        layers = {f'layers.{i}.{name}': array for i in range(2) for name, array in recorded().items()}
        self.add('doctor', 'recorded_layers', safetensors(layers))
        header = json.loads(out.read_bytes()[8:8 + struct.unpack('<Q', out.read_bytes()[:8])[0]])['__metadata__']
        self.add('settings', 'config', header['config'])
        self.add('settings', 'forward', header['settings'])
        self.add('settings', 'edits', json.dumps(json.loads(self.traced[2].read_text())['forward']))

    def runs(self):
        folder = self.scratch / 'run'
        small = ['model.d_model=4', 'model.d_ff=4', 'model.num_heads=2', 'model.num_layers=1', 'task.length=2', 'task.symbols=6',
                 'batch_size=2', 'evaluate_every=1']
        for task in ('copy', 'text'):
            self.run('train', '--task', task, '--threads', '1', '--steps', '3', '--out', str(folder / task),
                     *(word for setting in small for word in ('--set', setting)))
        run = folder / 'copy'
        model = (run / 'model.safetensors').read_bytes()
        self.add('checkpoint', 'run', b'\0' + model)
        self.add('checkpoint', 'text', b'\0' + (folder / 'text' / 'model.safetensors').read_bytes())
        moment = (run / 'moments' / 'step-1.safetensors').read_bytes()
        self.add('checkpoint', 'moment', b'\0' + moment)
        self.add('any_file', 'run', b'\0' + model)
        for name in ('curves.csv', 'heads.csv'):
            self.add('curves', name, (run / name).read_bytes())
        # GPT-2 from elsewhere: the same tensors without our metadata, and a config.json of at most 255 bytes.
        length, = struct.unpack('<Q', model[:8])
        header = json.loads(model[8:8 + length])
        arrays = {}
        for name, entry in header.items():
            if name != '__metadata__' and not name.startswith(('optimizer.', 'task.')):
                begin, end = entry['data_offsets']
                arrays[name] = np.frombuffer(model[8 + length + begin:8 + length + end], np.float32).reshape(entry['shape'])
        config = json.dumps({'model_type': 'gpt2', 'n_embd': 4, 'n_head': 2, 'n_layer': 1, 'n_inner': 4, 'activation_function': 'gelu_new'}).encode()
        self.add('checkpoint', 'gpt2', bytes([len(config)]) + config + safetensors(arrays))
        pieces = [model, (run / 'curves.csv').read_bytes(), (run / 'heads.csv').read_bytes(), moment,
                  (run / 'moments' / 'step-2.safetensors').read_bytes()]
        self.add('run_folder', 'run', b''.join(struct.pack('<I', len(p)) + p for p in pieces))
        self.add('run_folder', 'model', b''.join(struct.pack('<I', len(p)) + p for p in pieces[:1]))

    def arrays(self):
        random = np.random.default_rng(1)
        some = {'a': random.standard_normal((2, 3)).astype(np.float32), 'b': np.arange(4), 'c': np.array([True, False]),
                'd': random.standard_normal((1, 2)), 'e': np.zeros((2, 0), np.float32), 'f': np.array(3, np.int32),
                'g': random.standard_normal(3).astype(np.float16)}
        self.add('safetensors', 'kinds', safetensors(some, {'format': 'pt'}))
        self.add('safetensors', 'empty', safetensors({}))
        for name, array in some.items():
            self.add('npy', name, npy(array))
        self.add('npy', 'fortran', npy(np.asfortranarray(some['a'])))
        self.add('npy', 'big_endian', npy(some['a'].astype('>f4')))
        self.add('npy', 'version_2', npy(some['a'], (2, 0)))
        self.add('npy', 'version_3', npy(some['a'], (3, 0)))
        for packed in (False, True):
            archive = npz({'a': some['a'], 'b': some['b']}, packed)
            self.add('npz', 'packed' if packed else 'stored', archive)
            self.add('any_file', 'npz_packed' if packed else 'npz_stored', b'\x01' + archive)
        self.add('any_file', 'dump', b'\0' + safetensors(recorded()))
        self.add('any_file', 'text', b'\x03one line\n\nanother \xc3\xa9\r\n')

    def cases(self):
        golden = ROOT / 'tests/golden'
        for path in sorted(golden.iterdir()):
            if path.suffix in ('.safetensors', '.npz') and path.stat().st_size <= LONGEST:
                self.add('case', path.name, path.read_bytes())

    def tokenizers(self):
        for path in sorted((ROOT / 'tests/golden/hf/tokenizers').glob('*/tokenizer.json')):
            if path.stat().st_size <= LONGEST:
                self.add('tokenizer_json', path.parent.name, path.read_bytes())
        cases = ROOT / 'tests/golden/tokenizer_files'
        for path in sorted([*cases.glob('*/tokenizer.model'), *cases.glob('*/*.tiktoken')]):
            self.add('tokenizer_files', path.parent.name, path.read_bytes())
        self.add('tokenizer_files', 'bert', '\n'.join(['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'the', 'cat', '##s', 'on']).encode())
        text = lambda words: struct.pack('<Q', len(words.encode())) + words.encode()
        texts = lambda words: struct.pack('<IQ', 8, len(words)) + b''.join(text(word) for word in words)
        keys = {'tokenizer.ggml.model': (8, text('gpt2')), 'tokenizer.ggml.pre': (8, text('gpt-2')),
                'tokenizer.ggml.tokens': (9, texts(['a', 't', '\u0120', 'at'])), 'tokenizer.ggml.merges': (9, texts(['a t']))}
        header = b'GGUF' + struct.pack('<IQQ', 3, 1, len(keys))
        header += b''.join(text(key) + struct.pack('<I', kind) + value for key, (kind, value) in keys.items())
        header += text('a.weight') + struct.pack('<IQQIQ', 2, 4, 2, 0, 0)
        self.add('gguf', 'vocabulary', header + b'\0' * (-len(header) % 32) + b'\0' * 32)

    def models(self):
        for path in sorted((ROOT / 'tests/golden/gguf').glob('*.gguf')):
            if path.stat().st_size <= LONGEST:
                self.add('gguf_model', path.stem, path.read_bytes())

    def texts(self):
        for path in sorted((ROOT / 'assets/lessons').glob('*.json')):
            self.add('lesson', path.name, path.read_bytes())
        for name, text in {'words': 'the cat sat, the cat slept', 'letters': 'aé→\U0001d11e\n\t', 'bytes': b'\xff\xfe a \x00 \xc3(' }.items():
            self.add('tokenizer', name, text)
        self.add('window_settings', 'all', json.dumps({
            'dark': False, 'zoom': 1.25, 'left_pane': True, 'right_pane': False, 'strip': True, 'left_width': 260.5, 'right_width': 300,
            'strip_height': 90, 'window_placed': True, 'window_x': -5, 'window_y': 40, 'window_width': 1280, 'window_height': 720,
            'window_maximized': False, 'preset': 'gpt-tiny', 'texts': ['a b', 'c'], 'source_texts': [], 'recent_files': ['/a/b.txt']}))


def main():
    app = str(pathlib.Path(sys.argv[1]).resolve())
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / 'seeds'
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        seeds = Seeds(app, folder, pathlib.Path(scratch))
        seeds.documents()
        seeds.traces()
        seeds.runs()
        seeds.arrays()
        seeds.cases()
        seeds.tokenizers()
        seeds.models()
        seeds.texts()


if __name__ == '__main__':
    main()
