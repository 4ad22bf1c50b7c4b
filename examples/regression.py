"""Real data: the progress of diabetes, where a line does well and three neurons do not overfit."""

import sys
from pathlib import Path

import altair as alt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from symbreak.analysis import save_chart
from symbreak.estimators import EvolvedMLPRegressor

OUT = Path(__file__).parent / "output" / "regression.svg"


def main(out=OUT, budget=20_000):
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    network = EvolvedMLPRegressor(hidden_layer_sizes=3, max_evaluations=budget, random_state=0)
    models = {"linear": LinearRegression(), "three neurons": network}
    rows = []
    for name, model in models.items():
        score = model.fit(X_train, y_train).score(X_test, y_test)
        for truth, predicted in zip(y_test, model.predict(X_test), strict=True):
            rows.append((f"{name}, R2 = {score:.2f} on test data", truth, predicted))
    frame = pd.DataFrame(rows, columns=["model", "truth", "predicted"])
    print(network.confidence_)

    points = alt.Chart(frame).mark_point().encode(x="truth", y="predicted", color="model")
    diagonal = alt.Chart(pd.DataFrame({"truth": [25, 350], "predicted": [25, 350]}))
    diagonal = diagonal.mark_line(color="grey").encode(x="truth", y="predicted")
    save_chart((diagonal + points).configure_legend(labelLimit=300), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
