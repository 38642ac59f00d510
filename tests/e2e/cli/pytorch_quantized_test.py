# SPDX-License-Identifier: Apache-2.0
"""What PyTorch quantises (after training and while training) and its exporter writes: runs in integers from the first to
the last layer, with ONNX Runtime's answers."""
import sys
import warnings

import oracle
from oracle import np
from support import CliTest, kinglet, main

try:
    import torch
    from torch import nn
    from torch.ao.quantization import get_default_qat_qconfig_mapping, get_default_qconfig_mapping, quantize_fx
except ImportError as missing:
    print(f"skipped: python3-torch is needed ({missing})")
    sys.exit(77)

ENGINE = "qnnpack"
if ENGINE not in torch.backends.quantized.supported_engines:
    print("skipped: this PyTorch quantises nothing")
    sys.exit(77)
warnings.filterwarnings("ignore")


def convolution(inputs, outputs, activation=None, **options):
    layers = [nn.Conv2d(inputs, outputs, bias=False, **options), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation] if activation else []))


class Net(nn.Module):
    """The parts of MobileNetV2: stem, depthwise, residual, join, mean, classifier."""

    def __init__(self):
        super().__init__()
        self.stem = convolution(3, 8, nn.ReLU(), kernel_size=3, stride=2, padding=1)
        self.depthwise = convolution(8, 8, nn.ReLU6(), kernel_size=3, padding=1, groups=8)
        self.project = convolution(8, 8, kernel_size=1)
        self.pool = nn.MaxPool2d(2)
        self.branch = convolution(8, 4, nn.ReLU6(), kernel_size=1)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(12, 5)

    def forward(self, x):
        x = self.stem(x)
        x = self.pool(x + self.project(self.depthwise(x)))
        x = torch.cat([x, self.branch(x)], 1)
        return self.classifier(torch.flatten(self.mean(x), 1))


def quantized(while_training):
    torch.manual_seed(4)
    torch.backends.quantized.engine = ENGINE
    example, net = torch.randn(1, 3, 16, 16), Net().train()
    if while_training:
        prepared = quantize_fx.prepare_qat_fx(net, get_default_qat_qconfig_mapping(ENGINE), (example,))
    else:
        for _ in range(5):
            net(torch.randn(8, 3, 16, 16))
        prepared = quantize_fx.prepare_fx(net.eval(), get_default_qconfig_mapping(ENGINE), (example,))
    for _ in range(8):
        prepared(torch.randn(4, 3, 16, 16))
    return quantize_fx.convert_fx(prepared.eval()), example


class PytorchQuantized(CliTest):
    def test_runs_in_integers_with_the_answers_of_onnx_runtime(self):
        for while_training in (False, True):
            for opset in (13, 17):
                with self.subTest(while_training=while_training, opset=opset):
                    self.check(self.written(while_training, opset))

    def written(self, while_training, opset):
        net, example = quantized(while_training)
        path = self.folder / f"net{while_training}{opset}.onnx"
        torch.onnx.export(net, example, str(path), opset_version=opset, dynamo=False)
        return path

    def check(self, path):
        plan = self.assert_done(kinglet("inspect", path, "--shapes", "--json")).json()["plan"]
        self.assertEqual((plan["fallback_nodes"], plan["float_nodes"]), ([], []))
        operators = {node["operator"] for node in plan["nodes"]}
        self.assertTrue({"QLinearConv", "QLinearAdd", "QLinearGlobalAveragePool", "QGemm"} <= operators, operators)
        self.assertFalse({"Conv", "Clip", "Relu", "Gemm", "Add"} & operators, operators)
        given, got = self.folder / "given.npy", self.folder / "got.npy"
        for seed in range(4):
            inputs = oracle.random_inputs(path, seed)
            (name, picture), = inputs.items()
            np.save(given, picture)
            self.assert_done(kinglet("run", path, "--input", f"{name}={given}", "--output", got, "--force"))
            (right,) = oracle.run(path, inputs).values()
            steps = np.unique(np.abs(np.diff(np.sort(right.ravel()))))
            level = steps[steps > 1e-6].min()
            self.assertLessEqual(np.abs(np.load(got) - right).max(), 2.01 * level)


if __name__ == "__main__":
    main()
