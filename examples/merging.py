"""Two PyTorch networks, trained from different seeds and averaged: naively, and aligned."""

import copy
import sys
from pathlib import Path

import altair as alt
import pandas as pd
import torch

from symbreak.analysis import save_chart
from symbreak.symmetry import networks

OUT = Path(__file__).parent / "output" / "merging.svg"


def trained(X, y, seed, steps):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    search = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(steps):
        search.zero_grad()
        torch.mean((net(X) - y) ** 2).backward()
        search.step()
    return net


def main(out=OUT, budget=3_000):
    X, frames = torch.linspace(-2, 2, 200)[:, None], []
    y = torch.tanh(3 * X + 2) - 2 * torch.tanh(2 * X) + torch.tanh(4 * X - 3)
    one, other = (trained(X, y, seed, budget) for seed in (0, 1))
    naive, b = copy.deepcopy(one), other.state_dict()
    naive.load_state_dict({name: (a + b[name]) / 2 for name, a in one.state_dict().items()})
    nets = {"one": one, "other": other, "naive average": naive}
    for name, net in {**nets, "aligned average": networks.average([one, other])}.items():
        outputs = net(X).detach()
        print(f"{name}: error {torch.mean((outputs - y) ** 2).item():.2g}")
        frames.append(pd.DataFrame({"x": X[:, 0], "output": outputs[:, 0], "network": name}))
    lines = alt.Chart(pd.concat(frames)).mark_line().encode(x="x", y="output", color="network")
    save_chart(lines, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
