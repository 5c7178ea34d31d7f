"""Correlate every channel with the reference channel."""

import h5py
import numpy as np

parameters = snakemake.params  # noqa: F821 - given by Snakemake
with h5py.File(snakemake.input[0], "r") as source:  # noqa: F821
    data = source["acoustic"][...]

samples = data.shape[1]
spectra = np.fft.rfft(data, 2 * samples, axis=1)
whole = np.fft.irfft(spectra * np.conj(spectra[parameters.reference]), axis=1)
lags = np.r_[-parameters.max_lag : parameters.max_lag + 1]
norm = np.linalg.norm(data, axis=1) * np.linalg.norm(data[parameters.reference])
with h5py.File(snakemake.output[0], "w") as target:  # noqa: F821
    target["correlation"] = whole[:, lags] / np.maximum(norm, 1e-9)[:, None]
    target["lags"] = lags
