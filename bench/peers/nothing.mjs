// Nothing: what a process of Node has without us.
export const nothing = () => undefined;
