// Search in a site that was opened from a folder. A browser starts no worker from file://, so the
// script of the worker runs in a hidden frame. The site's engine would load such a script from
// elsewhere; it does not if one of this name is in mkdocs.yml.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.terminate = () => frame.remove();
      const loaded = new Promise((resolve) => (frame.onload = resolve));
      this.ready = loaded.then(() => {
        const scope = frame.contentWindow;
        scope.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
        const script = scope.document.createElement("script");
        script.src = new URL(url, location);
        script.onerror = () => this.onerror?.();
        const ready = new Promise((resolve) => (script.onload = () => resolve(scope)));
        scope.document.head.append(script);
        return ready;
      });
      document.documentElement.append(frame);
    }

    postMessage(data) {
      this.ready.then((scope) => scope.onmessage({ data }));
    }
  };
}
